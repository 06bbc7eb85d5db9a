import type { TimeUnit } from './timestamp.ts';

/**
 * The short form in which a user describes a sender of their own under `scheme:` in the configuration (SIG-1).
 */
export type HmacDescription = {
  /** The hash of the HMAC. */
  hmac: 'sha256' | 'sha1' | 'sha512';
  /** How the secret's text becomes key bytes; default utf8. */
  key?: 'utf8' | 'hex' | 'base64' | undefined;
  /** The header that carries the signature. */
  header: string;
  /** Text before each signature, such as `sha256=`. */
  prefix?: string | undefined;
  /** What separates several signatures in the header, such as `,`. */
  list?: string | undefined;
  /** The label of signatures in a list of `label=value`, such as `v1`. */
  field?: string | undefined;
  encoding: 'hex' | 'base64';
  /** The signed text: literal characters and the parts {body}, {timestamp}, {id}. */
  signed: string;
  /** Where the signed timestamp is; none means that there is no window. */
  timestamp?: (({ header: string } | { field: string }) & { unit: TimeUnit }) | undefined;
  eventId: { header: string } | { json: string } | { digest: 'body' };
  eventType?:
    | { header: string; action?: string | undefined }
    | { json: string }
    | { value: string }
    | undefined;
};

export type SchemeProblem = { readonly path: readonly string[]; readonly message: string };

/** Everything that is wrong with a description whose types are right, each with its path and the mend. */
export function schemeProblems(description: HmacDescription): SchemeProblem[] {
  const problems: SchemeProblem[] = [];
  const say = (path: string[], message: string) => problems.push({ path, message });
  for (const [path, name] of headerNames(description)) {
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name))
      say(path, 'is no HTTP header name, for example X-Signature');
  }
  const placeholders: string[] = description.signed.match(/\{[^}]*\}/g) ?? [];
  for (const placeholder of placeholders) {
    if (!['{body}', '{timestamp}', '{id}'].includes(placeholder)) {
      say(['signed'], `holds ${placeholder}; the known parts are {body}, {timestamp} and {id}`);
    }
  }
  if (placeholders.filter((part) => part === '{body}').length !== 1)
    say(['signed'], 'must hold {body} exactly once');
  const signsTime = placeholders.includes('{timestamp}');
  if (signsTime && !description.timestamp)
    say(['timestamp'], 'is missing: signed holds {timestamp}, so say where it is');
  if (!signsTime && description.timestamp) {
    say(
      ['timestamp'],
      'is not part of signed, so anybody could change it; add {timestamp} to signed or leave it out',
    );
  }
  if (placeholders.includes('{id}') && !('header' in description.eventId)) {
    say(['eventId'], 'must name a header: signed holds {id}');
  }
  if (/\{(timestamp|body)\}\{id\}|\{id\}\{(timestamp|body)\}/.test(description.signed)) {
    say(
      ['signed'],
      'must separate {id} from its neighbours, for example by a dot, or one could be shifted into the other',
    );
  }
  if (description.list === '')
    say(['list'], 'must not be empty; leave it out where the header holds one signature');
  if (description.field !== undefined && description.list === undefined) {
    say(['list'], 'is missing: field needs the separator of the list, for example ","');
  }
  if (description.timestamp && 'field' in description.timestamp && description.list === undefined) {
    say(['list'], 'is missing: timestamp.field needs the separator of the list, for example ","');
  }
  const { list, field, prefix, timestamp } = description;
  if (field !== undefined && timestamp && 'field' in timestamp && timestamp.field === field) {
    say(['timestamp', 'field'], 'is the label of the signature too; each needs its own');
  }
  if (list && prefix?.includes(list))
    say(['prefix'], 'holds the separator of the list, so no signature could be found');
  return problems;
}

function headerNames(description: HmacDescription): [string[], string][] {
  const { timestamp, eventId, eventType } = description;
  const names: [string[], string][] = [[['header'], description.header]];
  if (timestamp && 'header' in timestamp) names.push([['timestamp', 'header'], timestamp.header]);
  if ('header' in eventId) names.push([['eventId', 'header'], eventId.header]);
  if (eventType && 'header' in eventType) names.push([['eventType', 'header'], eventType.header]);
  return names;
}
