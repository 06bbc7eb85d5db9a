import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type SourceConfig, schemeOf } from '../inbound/index.ts';
import { secretPath } from '../platform/secrets.ts';
import { type Scheme, sign } from '../signing/index.ts';
import type { Configuration } from './configuration.ts';

/**
 * A `curl` line that sends a correctly signed webhook, with a new id at each paste. Only for a source whose secret
 * posthorn made itself (`data:`): a signature under a provider's secret is not ours to show. Undefined where no source
 * fits: the id must stand in a header, and no timestamp may be signed, as it would be too old by the time of the paste.
 */
export function sampleCurl(configuration: Configuration, publicUrl: string): string | undefined {
  for (const [code, source] of Object.entries(configuration.sources)) {
    const named = typeof source.secretFile === 'string' ? source.secretFile : source.secretFile?.[0];
    const { check, description } = schemeOf(source);
    const [rule] = description.eventId;
    if (!named?.startsWith('data:') || check.hasTimestamp || check.signsId) continue;
    if (rule === undefined || !('header' in rule) || description.check.family !== 'hmac') continue;
    const secret = readFileSync(secretPath(named, configuration), 'utf8').trim();
    return curlLine(`${publicUrl}/api/v1/webhooks/${code}`, source, secret);
  }
  return undefined;
}

const sampleBody =
  '{"ref":"refs/heads/main","repository":{"full_name":"octocat/hello-world"},"pusher":{"name":"octocat"}}';
/** Works in sh, bash and zsh, on Linux and macOS. */
const newId = '$(od -An -N16 -tx1 /dev/urandom | tr -d " \\n")';

function curlLine(url: string, source: SourceConfig, secret: string): string {
  const scheme = schemeOf(source);
  const placeholder = randomBytes(8).toString('hex');
  const draft = {
    body: Buffer.from(sampleBody),
    headers: { ...typeHeader(scheme), 'content-type': 'application/json' },
  };
  const { headers } = sign(draft, scheme, { key: secret, id: placeholder });
  const flags = Object.entries(headers).map(
    ([name, value]) => `-H "${name}: ${value.replace(placeholder, newId)}"`,
  );
  return `curl -i -X POST ${url} ${flags.join(' ')} -d '${sampleBody}'`;
}

function typeHeader({ description }: Scheme): Record<string, string> {
  const rule = description.eventType?.[0];
  return rule !== undefined && 'header' in rule ? { [rule.header]: 'push' } : {};
}
