/** For test/docs.test.ts: the script itself is plain JavaScript, because it runs before anything is built. */
export function conformance(root: string): {
  requirements: Record<string, string>;
  tests: { id: string; file: string; name: string }[];
  markdown: string;
};
export function testNames(text: string): string[];
export function idsIn(name: string): string[];
