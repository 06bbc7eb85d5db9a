import { createHmac } from 'node:crypto';
import type { Envelope } from '../../src/core/envelope.ts';
import { compileScheme, type HmacDescription } from '../../src/signing/index.ts';

/** Signed requests for the tests of src/signing. MACs are made with node:crypto alone, not with the code under test. */
export const secret = 'a secret of more than 16 bytes';
export const nowSeconds = 1_700_000_000;
export const now = nowSeconds * 1000;
export const body = Buffer.from('{"id":"evt_1","note":"héllo 😀"}\n');

export function envelope(rawHeaders: readonly string[], sent: Buffer = body, receivedAt = now): Envelope {
  return { method: 'POST', query: '', rawHeaders, body: sent, receivedAt };
}

export function mac(
  encoding: 'hex' | 'base64',
  pieces: readonly (string | Buffer)[],
  key: string | Buffer = secret,
): string {
  const hmac = createHmac('sha256', key);
  for (const piece of pieces) hmac.update(piece);
  return hmac.digest(encoding);
}

type Case = {
  readonly description: HmacDescription;
  /** The headers of a request that carries `signature`, which may be anything. */
  readonly headers: (signature: string, timestamp?: string) => string[];
  /** What is signed, as pieces. */
  readonly signed: (sent: Buffer, timestamp?: string) => (string | Buffer)[];
};

const base = { hmac: 'sha256', header: 'X-Sign', eventId: { header: 'X-Id' } } as const;
const plain = (sent: Buffer) => [sent];
const timed = (sent: Buffer, timestamp = String(nowSeconds)) => [timestamp, '.', sent];

/** Hex and base64, each with and without a timestamp: in a list with labels, and in a header of its own. */
const cases = {
  hex: {
    description: { ...base, prefix: 'sha256=', encoding: 'hex', signed: '{body}' },
    headers: (signature) => ['X-Sign', `sha256=${signature}`],
    signed: plain,
  },
  base64: {
    description: { ...base, encoding: 'base64', signed: '{body}' },
    headers: (signature) => ['X-Sign', signature],
    signed: plain,
  },
  'hex with a timestamp in a list': {
    description: {
      ...base,
      list: ',',
      field: 'v1',
      encoding: 'hex',
      signed: '{timestamp}.{body}',
      timestamp: { field: 't', unit: 's' },
    },
    headers: (signature, timestamp = String(nowSeconds)) => ['X-Sign', `t=${timestamp},v1=${signature}`],
    signed: timed,
  },
  'base64 with a timestamp in a header': {
    description: {
      ...base,
      prefix: 'v0=',
      encoding: 'base64',
      signed: '{timestamp}.{body}',
      timestamp: { header: 'X-Time', unit: 's' },
    },
    headers: (signature, timestamp = String(nowSeconds)) => [
      'X-Sign',
      `v0=${signature}`,
      'X-Time',
      timestamp,
    ],
    signed: timed,
  },
} satisfies Record<string, Case>;

export type CaseName = keyof typeof cases;
export const caseNames = Object.keys(cases) as CaseName[];

export function caseOf(name: CaseName) {
  const { description, headers, signed }: Case = cases[name];
  const scheme = compileScheme(description);
  const signature = (
    sent: Buffer = body,
    { key = secret, timestamp }: { key?: string; timestamp?: string } = {},
  ) => mac(description.encoding, signed(sent, timestamp), key);
  return { description, scheme, headers, signature };
}
