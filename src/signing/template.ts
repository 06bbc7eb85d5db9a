/** The parts that a signed text can hold; whatever stands between them is literal. */
export const partNames = ['body', 'timestamp', 'id', 'url', 'uri', 'method', 'secret'] as const;
export type PartName = (typeof partNames)[number];

/** A piece of the signed text. */
export type SignedPart = { readonly text: string } | PartName;

/** What the parts stand for in one request. `url` is the one registered at the sender, `uri` the same with the query that came. */
export type PartValues = Readonly<Record<PartName, string | Buffer>>;

const placeholder = /(\{(?:body|timestamp|id|url|uri|method|secret)\})/;

/** Cuts a template such as `v0:{timestamp}:{body}` into its parts. */
export function signedParts(template: string): SignedPart[] {
  return template
    .split(placeholder)
    .filter((piece) => piece !== '')
    .map((piece) => (placeholder.test(piece) ? (piece.slice(1, -1) as PartName) : { text: piece }));
}

/** A literal at the very beginning or end separates nothing, so it binds no id. */
export function idEnds(parts: readonly SignedPart[]): string[] {
  const at = parts.indexOf('id');
  if (at < 0) return [];
  const before = parts[at - 1];
  const after = parts[at + 1];
  const ends: (string | undefined)[] = [];
  if (at > 1 && typeof before === 'object') ends.push(before.text.at(-1));
  if (at < parts.length - 2 && typeof after === 'object') ends.push(after.text[0]);
  return ends.filter((sign) => sign !== undefined);
}

/** Something that takes bytes: a hash, a MAC. */
type Sink = { update(bytes: string | Buffer): unknown };

/** Feeds the signed text piece by piece; raw bytes go in, never a string made of them (SIG-3). */
export function feed(sink: Sink, parts: readonly SignedPart[], values: PartValues): void {
  for (const part of parts) sink.update(typeof part === 'object' ? part.text : values[part]);
}

/** The signed text as one piece, for algorithms that take no pieces. */
export function signedBytes(parts: readonly SignedPart[], values: PartValues): Buffer {
  const pieces: Buffer[] = [];
  feed(
    { update: (bytes) => pieces.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes) },
    parts,
    values,
  );
  return Buffer.concat(pieces);
}

/** The registered URL with the query that the request came with. */
export function uriOf(publicUrl: string, query: string): string {
  const mark = publicUrl.indexOf('?');
  const base = mark < 0 ? publicUrl : publicUrl.slice(0, mark);
  return query === '' ? base : `${base}?${query}`;
}
