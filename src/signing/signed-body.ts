import type { Envelope } from '../core/envelope.ts';
import { firstHeader } from '../core/headers.ts';
import { parseForm } from './form-body.ts';

/**
 * The bytes that a sender may have signed in place of the body as it arrived; nearly always they are the same.
 *   payload-field  a form's decoded field `payload` (Gitea, Forgejo); any other body as it is
 *   decoded-form   the form with its escapes undone (CloudPayments signs that in one header and the body in the other)
 */
export function signedBodies(
  envelope: Envelope,
  kind: 'raw' | 'payload-field' | 'decoded-form' | undefined,
): readonly Buffer[] {
  if (kind === undefined || kind === 'raw') return [envelope.body];
  if (kind === 'decoded-form') {
    const decoded = decodedForm(envelope.body);
    return decoded === undefined ? [envelope.body] : [envelope.body, decoded];
  }
  if (!isForm(envelope.rawHeaders)) return [envelope.body];
  const fields = (parseForm(envelope.body) ?? []).filter(([name]) => name === 'payload');
  return fields.length === 1 ? [Buffer.from((fields[0] as [string, string])[1])] : [];
}

/** Whether the request calls its body a form. */
export function isForm(rawHeaders: readonly string[]): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(firstHeader(rawHeaders, 'content-type') ?? '');
}

/** Undefined where two different forms would decode to it: who saw one signed request could then send another. */
function decodedForm(body: Buffer): Buffer | undefined {
  const pairs = parseForm(body);
  if (pairs === undefined) return undefined;
  const isAmbiguous = pairs.some(([name, value]) => /[&=]/.test(name) || value.includes('&'));
  if (isAmbiguous) return undefined;
  return Buffer.from(pairs.map(([name, value]) => `${name}=${value}`).join('&'));
}
