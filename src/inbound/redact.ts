/**
 * What a journal row, a handler or a page must not show (IN-13): values of headers and query parameters that
 * carry signatures, credentials or tokens are replaced. Names stay, so that one sees what was sent.
 */
export const redacted = '[redacted]';

const secretName =
  /signature|hmac|authorization|cookie|token|secret|passw|credential|api[-_]?key|session|jwt|^x-hub-|^sig$|^code$/i;

type JudgedName = { readonly isSecret: boolean; readonly json: string };

/** Remembered per name: senders use few; the bounds keep a hostile one from filling memory. */
const judged = new Map<string, JudgedName>();
const mostJudged = 2_000;

function judgeName(name: string): JudgedName {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const fresh = { isSecret: secretName.test(name), json: JSON.stringify(name) };
  if (judged.size < mostJudged && name.length <= 100) judged.set(name, fresh);
  return fresh;
}

/** Header pairs as a JSON text `[["Name","value"], ...]`, in order, repeated names kept, secrets replaced. */
export function headersForJournal(rawHeaders: readonly string[], alsoSecret: ReadonlySet<string>): string {
  let json = '';
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const { isSecret, json: nameJson } = judgeName(name);
    const isRedacted = isSecret || alsoSecret.has(name.toLowerCase());
    const value = isRedacted ? redacted : (rawHeaders[i + 1] as string);
    json += `,[${nameJson},${needsEscape.test(value) ? JSON.stringify(value) : `"${value}"`}]`;
  }
  return `[${json.slice(1)}]`;
}

/** On the hot path: most values are plain, and JSON.stringify costs more than this look. */
const needsEscape = /[^ !#-[\]-~]/;

/** A query string with the values of secret parameters replaced; everything else stays as it arrived. */
export function queryForJournal(query: string): string {
  if (query === '') return '';
  return query
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=');
      return at >= 0 && judgeName(decoded(pair.slice(0, at))).isSecret
        ? `${pair.slice(0, at)}=${redacted}`
        : pair;
    })
    .join('&');
}

/** Each escape by itself: one that is broken must not hide the others. */
function decoded(name: string): string {
  return name.replace(/%([0-9a-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}
