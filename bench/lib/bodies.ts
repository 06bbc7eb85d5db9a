import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';

/** JSON bodies: one of the wanted size, or real payloads as GitHub sent them. */
export function makeBodies(size: string): Buffer[] {
  if (size === 'real') {
    const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as { examples: object[] }[];
    return examples.flatMap((example) =>
      example.examples.map((payload) => Buffer.from(JSON.stringify(payload))),
    );
  }
  const wanted = Number(size);
  const payload = {
    ref: 'refs/heads/main',
    repository: { id: 1, full_name: 'octocat/hello-world' },
    commits: [] as object[],
  };
  while (JSON.stringify(payload).length < wanted - 160) {
    payload.commits.push({
      id: randomBytes(20).toString('hex'),
      message: 'a change',
      author: { name: 'octocat' },
      distinct: true,
    });
  }
  const filler = wanted - JSON.stringify({ ...payload, filler: '' }).length;
  return [Buffer.from(JSON.stringify({ ...payload, filler: 'x'.repeat(Math.max(0, filler)) }))];
}
