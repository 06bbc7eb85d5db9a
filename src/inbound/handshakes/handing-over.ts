import { soleHeader } from '../../core/headers.ts';
import { isToken } from '../../signing/index.ts';
import { empty, type Handshake } from './handshake.ts';

/**
 * Senders that hand their secret over in the handshake. It is taken only while the source has none: otherwise whoever
 * knows the URL could put a secret of their own in its place.
 */

/** Asana, "Webhooks": `X-Hook-Secret` comes while the call that makes the webhook is open, and is sent back. */
export const asana: Handshake = {
  methods: [],
  unsigned: ({ envelope, keys }) => {
    const header = soleHeader(envelope.rawHeaders, 'x-hook-secret');
    if (header === 'absent') return undefined;
    if (header === 'repeated' || !/^[\x21-\x7e]{16,200}$/.test(header.value)) return 'refused';
    const reply = { status: 200, headers: [['X-Hook-Secret', header.value]] as const };
    if (keys.length === 0) return { reply, secret: header.value };
    return keys.some((key) => isToken(key, header.value)) ? { reply } : 'refused';
  },
};

/** Notion, "Webhooks": the token comes in the body, signed with itself; a person pastes it at Notion. */
export const notion: Handshake = {
  methods: [],
  signed: ({ payload, keys }) => {
    const body = payload();
    const token =
      typeof body === 'object' && body !== null && 'verification_token' in body
        ? body.verification_token
        : undefined;
    if (token === undefined) return undefined;
    if (typeof token !== 'string' || !/^[\x21-\x7e]{16,200}$/.test(token)) return 'refused';
    return keys.length === 0 ? { reply: { status: 200 }, secret: token } : empty;
  },
};
