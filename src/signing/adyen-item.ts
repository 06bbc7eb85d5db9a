import { createHmac, type KeyObject } from 'node:crypto';
import {
  bad,
  type Check,
  type CheckContext,
  type Draft,
  missing,
  type Signer,
  type Verdict,
} from './check.ts';
import { equalText } from './compare.ts';
import { valueAt, valuesAt, withValueAt } from './paths.ts';
import { secretProblem, signingKey } from './secrets.ts';

/**
 * The family `adyen-item` ("Verify HMAC signatures" in Adyen's documents): every item of a standard notification carries
 * base64 of HMAC-SHA256 over eight of its fields, joined by colons. What else stands in the item is not signed.
 */
export type AdyenItemCheck = { readonly family: 'adyen-item' };

/** Where the items stand in the body. */
export const adyenItems = 'notificationItems[].NotificationRequestItem';
const signaturePath = ['additionalData', 'hmacSignature'];
const signedPaths = [
  'pspReference',
  'originalReference',
  'merchantAccountCode',
  'merchantReference',
  'amount.value',
  'amount.currency',
  'eventCode',
  'success',
].map((path) => path.split('.'));

const keyEncoding = 'hex';
const mostItems = 100;

export const adyenItemCheck: Check = {
  needsSecret: true,
  readsBody: true,
  secretHeaders: [],
  hasTimestamp: false,
  signsId: true,
  secretProblem: (text) => secretProblem(text, { keyEncoding }),
  keyOf: (text) => signingKey(text, keyEncoding),
  judge,
  sign,
};

function judge(_envelope: unknown, keys: readonly KeyObject[], { payload }: CheckContext): Verdict {
  const body = payload();
  const holders = valuesAt(body, 'notificationItems[]');
  const items = valuesAt(body, adyenItems);
  if (items.length === 0) return missing;
  // A holder without its item would otherwise pass beside one that is signed.
  if (items.length > mostItems || items.length !== holders.length) return bad;
  if (items.some((item) => valueAt(item, signaturePath) === undefined)) return missing;
  const secretIndex = keys.findIndex((key) => items.every((item) => hasSigned(key, item)));
  if (secretIndex >= 0) return { ok: true, secretIndex };
  // While a key is exchanged, the items of one request may be signed with either.
  const isEach = items.every((item) => keys.some((key) => hasSigned(key, item)));
  return isEach ? { ok: true, secretIndex: 0 } : bad;
}

function hasSigned(key: KeyObject, item: unknown): boolean {
  const claimed = valueAt(item, signaturePath);
  if (typeof claimed !== 'string' || key.type !== 'secret' || key.symmetricKeySize === 0) return false;
  const signed = signedText(item);
  return signed !== undefined && equalText(macOf(key, signed), claimed);
}

/** Undefined where a field is an object or list, which has no one spelling. */
function signedText(item: unknown): string | undefined {
  const values = signedPaths.map((path) => valueAt(item, path) ?? '');
  return values.every((value) => typeof value !== 'object') ? values.join(':') : undefined;
}

function macOf(key: KeyObject, signed: string): string {
  return createHmac('sha256', key).update(signed).digest('base64');
}

function sign(draft: Draft, { key }: Signer): Draft {
  const secret = typeof key === 'string' ? signingKey(key, keyEncoding) : key;
  if (secret === undefined) throw new Error('the secret cannot be used as a key of this scheme');
  const payload = JSON.parse(draft.body.toString('utf8'));
  const notificationItems = valuesAt(payload, adyenItems).map((item) => ({
    NotificationRequestItem: withValueAt(item, signaturePath, macOf(secret, signedText(item) ?? '')),
  }));
  return { ...draft, body: Buffer.from(JSON.stringify({ ...payload, notificationItems })) };
}
