import { type Provider, providers } from '../../signing/index.ts';
import { type Guide, guides } from './index.ts';

/** The URL of a source in texts for people. */
const urlInWords = 'https://<your host>/api/v1/webhooks/<code>';

/** The pages of docs/sources by file name, made of the facts of the catalogue and the words of the guides. */
export function sourcePages(): ReadonlyMap<string, string> {
  const pages = Object.entries(guides).map(([slug, guide]) => [`${slug}.md`, pageOf(slug, guide)] as const);
  return new Map([['README.md', overview()], ...pages]);
}

function overview(): string {
  const rows = Object.entries(providers)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(
      ([slug, provider]) => `| [${provider.title}](${slug}.md) | \`${slug}\` | ${proofInWords(provider)} |`,
    );
  return `# Senders

What each sender needs, how it proves itself, and what is lost while Posthorn is down. A sender that is not here is
described in the configuration: see [A sender of your own](../configuration.md#a-sender-of-your-own).

| sender | \`scheme\` | proof |
| --- | --- | --- |
${rows.join('\n')}

[Paddle Classic](paddle-classic.md) is not verified.
`;
}

function pageOf(slug: string, guide: Guide): string {
  const provider = providers[slug];
  const facts =
    provider === undefined ? '' : `${example(slug, provider)}\n## Facts\n\n${factsOf(provider)}\n\n`;
  const title = provider?.title ?? 'Paddle Classic';
  return `# ${title}

## Where to click

${guide.steps.map((step, index) => `${index + 1}. ${inUrl(step)}`).join('\n')}

## What to paste

${inUrl(guide.secret)}

${facts}## If we are down

${inUrl(guide.retries)}

${inUrl(guide.ifDown)}
${section('Good to know', guide.notes)}${section("Not checked against the provider's documents", guide.unchecked?.map(withoutPreface))}`;
}

function section(title: string, texts: readonly string[] | undefined): string {
  return texts === undefined || texts.length === 0
    ? ''
    : `\n## ${title}\n\n${texts.map((text) => `- ${inUrl(text)}`).join('\n')}\n`;
}

/** The heading says it for all. */
function withoutPreface(text: string): string {
  const rest = text.replace(/^Not checked against the provider's documents: /, '');
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

function inUrl(text: string): string {
  return text.replaceAll('{url}', urlInWords);
}

const optionLines: Record<string, string> = {
  publicUrl: 'publicUrl: https://example.com/api/v1/webhooks/CODE   # exactly as registered',
  webhookId: 'webhookId: 1AB23456CD789012E',
  topics: 'topics: ["arn:aws:sns:eu-west-1:123456789012:orders"]',
  verifyToken: 'verifyTokenFile: secrets/CODE-verify-token',
};

/** Where the sender's handshake hands the secret over, none is named. */
const handsOver = ['asana', 'notion'];

function example(slug: string, provider: Provider): string {
  const { check } = provider.scheme;
  const hasSecret = !['none', 'ip', 'rsa-cert'].includes(check.family) && !handsOver.includes(slug);
  const lines = [
    `scheme: ${slug}`,
    ...(hasSecret ? [`secretFile: secrets/${slug}`] : []),
    ...(provider.needs ?? []).map((need) => optionLines[need]?.replaceAll('CODE', slug) ?? ''),
  ];
  return `\`\`\`yaml\nsources:\n  ${slug}:\n${lines.map((line) => `    ${line}`).join('\n')}\n\`\`\`\n`;
}

function factsOf(provider: Provider): string {
  const { scheme, reply, skippedTypes, encodings } = provider;
  const facts: [string, string | undefined][] = [
    ['proof', proofInWords(provider)],
    ['event id', scheme.eventId.map(ruleInWords).join(', else ')],
    ['event type', scheme.eventType?.map(ruleInWords).join(', else ') ?? 'none'],
    ['events inside', scheme.items && `\`${scheme.items.at.join('`, `')}\`: split by \`event.items()\``],
    ['window', windowInWords(provider)],
    ['handshake', provider.handshake && 'answered by Posthorn'],
    ['answer', reply && `${reply.status}${reply.body === undefined ? ', empty' : ` \`${reply.body}\``}`],
    ['largest body', provider.maxPayloadKb === undefined ? undefined : `${provider.maxPayloadKb} KiB`],
    ['skipped types', skippedTypes && `\`${skippedTypes.join('`, `')}\``],
    ['packed bodies', encodings && `${encodings.names.join(', ')}; the ${encodings.signed} bytes are signed`],
  ];
  return facts
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `- ${name}: ${text}`)
    .join('\n');
}

function windowInWords({ toleranceSeconds, scheme }: Provider): string {
  const { check } = scheme;
  const isTimed = ('timestamp' in check && check.timestamp !== undefined) || toleranceSeconds !== undefined;
  if (!isTimed) return 'none, no time is signed';
  return `${toleranceSeconds ?? 300} s both ways around the time of reception`;
}

/** How a sender proves itself, in a few words. */
function proofInWords({ scheme }: Provider): string {
  const { check } = scheme;
  switch (check.family) {
    case 'hmac':
      return `HMAC-${check.hash.toUpperCase().replace('SHA', 'SHA-')} in \`${check.header}${check.numbered === undefined ? '' : '-1'}\``;
    case 'digest':
      return `SHA-256 of secret and body in \`${check.header}\``;
    case 'standard':
      return `Standard Webhooks in \`${check.headers[0]}-signature\``;
    case 'twilio':
      return 'HMAC-SHA-1 over URL and fields in `X-Twilio-Signature`';
    case 'adyen-item':
      return 'HMAC-SHA-256 in each item of the body';
    case 'mailgun-body':
      return 'HMAC-SHA-256 of a token in the body';
    case 'ed25519':
      return `Ed25519 in \`${check.header}\``;
    case 'ecdsa':
      return `ECDSA in \`${check.header}\``;
    case 'rsa-cert':
      return "RSA with the sender's certificate";
    case 'token':
      return `token in ${'header' in check.from ? `\`${check.from.header}\`` : 'the body'}, nothing signed`;
    case 'basic':
      return 'basic authentication, nothing signed';
    case 'ip':
      return 'its networks, nothing signed';
    case 'jwt-body-hash':
      return `JWT in \`${check.header}\``;
    case 'none':
      return 'none: whoever knows the URL can send';
  }
}

function ruleInWords(rule: object): string {
  if ('header' in rule)
    return `header \`${rule.header}\`${'action' in rule ? ' and the action of the body' : ''}`;
  if ('json' in rule) return `\`${rule.json}\` of the body`;
  if ('value' in rule) return `\`${rule.value}\``;
  if ('parts' in rule) return (rule.parts as object[]).map(ruleInWords).join(' with ');
  if ('items' in rule) return 'that of the only item, or a digest of the ids of all';
  if ('unique' in rule) return 'a new one each time, as equal requests are different events';
  if ('keyBeside' in rule)
    return `the key of the body beside \`${(rule.keyBeside as string[]).join('`, `')}\``;
  return 'the digest of the body';
}
