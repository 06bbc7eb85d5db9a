import { isUtf8 } from 'node:buffer';
import type { Envelope } from '../core/envelope.ts';
import { firstHeader } from '../core/headers.ts';
import { formObject, parseForm } from './form-body.ts';
import { type ParsedBody, parseJsonBody } from './json-body.ts';
import { isForm } from './signed-body.ts';

const mostParts = 1_000;
const lineEnd = Buffer.from('\r\n');

/**
 * The text fields of a `multipart/form-data` body (RFC 7578), files left out: they are in the bytes that are kept. A body
 * that calls itself a form or JSON is read as that.
 */
export function parseMultipart({ rawHeaders, body }: Envelope): ParsedBody {
  if (isForm(rawHeaders)) {
    const pairs = parseForm(body);
    return pairs === undefined ? 'bad_body' : { payload: formObject(pairs) };
  }
  const boundary = boundaryOf(firstHeader(rawHeaders, 'content-type') ?? '');
  if (boundary === undefined) return parseJsonBody(body);
  const pairs: [string, string][] = [];
  const delimiter = Buffer.from(`--${boundary}`);
  let at = body.indexOf(delimiter);
  for (let parts = 0; at >= 0; parts++) {
    if (parts > mostParts) return 'bad_body';
    const start = at + delimiter.length;
    if (body.toString('latin1', start, start + 2) === '--') return { payload: formObject(pairs) };
    if (!body.subarray(start, start + 2).equals(lineEnd)) return 'bad_body';
    const end = body.indexOf(`\r\n--${boundary}`, start);
    const headEnd = body.indexOf('\r\n\r\n', start);
    if (end < 0 || headEnd < 0 || headEnd > end) return 'bad_body';
    const name = fieldName(body.toString('utf8', start, headEnd));
    const value = body.subarray(headEnd + 4, Math.max(headEnd + 4, end));
    if (name !== undefined && isUtf8(value)) pairs.push([name, value.toString('utf8')]);
    at = end + lineEnd.length;
  }
  // The closing delimiter is missing: the body was cut.
  return 'bad_body';
}

function boundaryOf(contentType: string): string | undefined {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s";]{1,70}))/i.exec(
    contentType,
  );
  return match?.[1] ?? match?.[2];
}

/** The name of a text field; undefined for a file, or where no name is given. */
function fieldName(head: string): string | undefined {
  const disposition = /^content-disposition:[ \t]*form-data\b(.*)$/im.exec(head)?.[1];
  if (disposition === undefined || /;\s*filename\*?=/i.test(disposition)) return undefined;
  return /;\s*name="([^"\r\n]*)"/i.exec(disposition)?.[1];
}
