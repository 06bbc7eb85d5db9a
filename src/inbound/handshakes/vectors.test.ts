import { createSecretKey } from 'node:crypto';
import { expect, it } from 'vitest';
import { type Vector, vectors } from '../../../test/support/signature-vectors.ts';
import { handshakes, type ShakeContext } from './index.ts';

const context = (
  vector: Vector,
  of: { method?: string; query?: string; payload?: unknown },
): ShakeContext => ({
  envelope: {
    method: of.method ?? 'POST',
    query: of.query ?? '',
    rawHeaders: [],
    body: Buffer.alloc(0),
    receivedAt: 0,
  },
  payload: () => of.payload,
  keys: [createSecretKey(Buffer.from(vector.key))],
  verifyTokens: [],
});

it('[IN-8] the vector zoom-url-validation is the answer to Zoom, with exactly its two fields', () => {
  const vector = vectors.get('zoom-url-validation') as Vector;
  const payload = { event: 'endpoint.url_validation', payload: { plainToken: vector.signedText } };
  expect(handshakes.zoom.signed?.(context(vector, { payload }))).toEqual({
    reply: {
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify({ plainToken: vector.signedText, encryptedToken: vector.expected }),
    },
  });
});

it('[IN-8] the vector x-crc-gist-inputs is the answer to X', () => {
  const vector = vectors.get('x-crc-gist-inputs') as Vector;
  const query = `crc_token=${vector.signedText}`;
  expect(handshakes.x.unsigned?.(context(vector, { method: 'GET', query }))).toEqual({
    reply: {
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify({ response_token: `sha256=${vector.expected}` }),
    },
  });
});
