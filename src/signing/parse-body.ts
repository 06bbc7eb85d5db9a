import type { Envelope } from '../core/envelope.ts';
import { formObject, parseForm } from './form-body.ts';
import { type ParsedBody, parseJsonBody } from './json-body.ts';
import { parseMultipart } from './multipart-body.ts';
import type { BodyKind } from './scheme.ts';
import { isForm } from './signed-body.ts';

/**
 * What a body says, as its scheme says to read it (gate 8). A form becomes an object of its fields; where a field
 * `payload` holds JSON (Slack, GitHub, Gitea), that is what the event says. `any` is never looked into.
 */
export function parseBody(envelope: Envelope, kind: BodyKind): ParsedBody {
  if (kind === 'any') return { payload: undefined };
  if (kind === 'multipart') return parseMultipart(envelope);
  if (kind === 'json-or-any') {
    const parsed = parseJsonBody(envelope.body);
    return parsed === 'bad_body' ? { payload: undefined } : parsed;
  }
  const isJson = kind === 'json' || (kind === 'json-or-form' && !isForm(envelope.rawHeaders));
  return isJson ? parseJsonBody(envelope.body) : parseFormBody(envelope.body);
}

function parseFormBody(body: Buffer): ParsedBody {
  const pairs = parseForm(body);
  if (pairs === undefined) return 'bad_body';
  const fields = formObject(pairs);
  if (typeof fields.payload !== 'string') return { payload: fields };
  const inner = parseJsonBody(Buffer.from(fields.payload));
  return inner === 'bad_body' ? { payload: fields } : inner;
}
