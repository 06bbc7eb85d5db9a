import { sign as signBytes } from 'node:crypto';
import type { Draft, Signer } from './check.ts';
import { valueAt } from './paths.ts';
import type { RsaClaim } from './rsa-cert.ts';

/**
 * AWS SNS ("Verifying the signatures of Amazon SNS messages"): the body carries its own signature over `Key\nValue\n` of
 * some of its fields in a fixed order. Version 1 is SHA-1, version 2 SHA-256; the topic's owner chooses.
 */
export function snsClaim(
  payload: unknown,
  topics: readonly string[] | undefined,
): RsaClaim | 'absent' | 'bad' {
  const field = (name: string) => valueAt(payload, [name]);
  const [signature, certificateUrl, topic] = [field('Signature'), field('SigningCertURL'), field('TopicArn')];
  if (signature === undefined || certificateUrl === undefined) return 'absent';
  if (typeof signature !== 'string' || typeof certificateUrl !== 'string') return 'bad';
  // Anybody can have a topic of their own and have it signed: only the named ones are ours.
  if (typeof topic !== 'string' || (topics !== undefined && !topics.includes(topic))) return 'bad';
  const hash = hashes.get(field('SignatureVersion'));
  const timestamp = field('Timestamp');
  const messages = layoutsOf(field('Type')).map((names) => canonicalText(payload, names));
  if (hash === undefined || typeof timestamp !== 'string') return 'bad';
  if (messages.length === 0 || messages.includes(undefined)) return 'bad';
  return { messages: messages as Buffer[], signature, hash, timestamp, certificateUrl };
}

const hashes = new Map<unknown, 'sha1' | 'sha256'>([
  ['1', 'sha1'],
  ['2', 'sha256'],
]);

const notification = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
const confirmation = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];

/** Of an unsubscribing message Amazon's documents sign the token and its own library does not: either is taken. */
function layoutsOf(type: unknown): readonly (readonly string[])[] {
  if (type === 'Notification') return [notification];
  if (type === 'SubscriptionConfirmation') return [confirmation];
  if (type !== 'UnsubscribeConfirmation') return [];
  return [confirmation, confirmation.filter((name) => name !== 'Token')];
}

/** Undefined where a field is no text. Only the subject may be absent. */
function canonicalText(payload: unknown, names: readonly string[]): Buffer | undefined {
  let text = '';
  for (const name of names) {
    const value = valueAt(payload, [name]);
    if (name === 'Subject' && (value === undefined || value === null)) continue;
    if (typeof value !== 'string') return undefined;
    text += `${name}\n${value}\n`;
  }
  return Buffer.from(text);
}

export function snsSign(draft: Draft, { key, id, timestamp }: Signer): Draft {
  if (typeof key === 'string') throw new Error('this scheme is signed with a private key');
  const given = JSON.parse(draft.body.toString('utf8'));
  const payload = {
    Message: 'hello',
    TopicArn: 'arn:aws:sns:eu-west-1:123456789012:posthorn',
    ...given,
    Type: layoutsOf(given.Type).length > 0 ? given.Type : 'Notification',
    MessageId: id,
    Timestamp: new Date(timestamp).toISOString(),
    SignatureVersion: '2',
    SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-test.pem',
  };
  const message = canonicalText(payload, layoutsOf(payload.Type)[0] ?? notification);
  if (message === undefined) throw new Error('a field that SNS signs is missing');
  const Signature = signBytes('sha256', message, key).toString('base64');
  return { ...draft, body: Buffer.from(JSON.stringify({ ...payload, Signature })) };
}
