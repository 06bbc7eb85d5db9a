import { type Provider, providers } from '../signing/index.ts';

/** The options of a source that only some senders know, with how each is to be had. */
const mends = {
  publicUrl: 'this sender signs its URL; write the one that is registered there',
  webhookId: 'PayPal signs the id of the webhook; it stands in its dashboard, beside the URL',
  topics: 'anybody can have a topic of their own; list the ARNs of yours',
  verifyToken: 'name verifyTokenFile or verifyTokenEnv with the token that you enter at the sender',
};

type Options = {
  scheme: unknown;
  publicUrl?: unknown;
  webhookId?: unknown;
  topics?: unknown;
  key?: unknown;
  networks?: unknown;
  verifyTokenFile?: unknown;
  verifyTokenEnv?: unknown;
};

/** What is missing for the scheme of a source, and what says nothing to it. */
export function optionProblems(source: Options): { path: string; message: string }[] {
  const provider = typeof source.scheme === 'string' ? providers[source.scheme] : undefined;
  const family = provider?.scheme.check.family;
  const has = {
    publicUrl: source.publicUrl !== undefined,
    webhookId: source.webhookId !== undefined,
    topics: source.topics !== undefined,
    verifyToken: source.verifyTokenFile !== undefined || source.verifyTokenEnv !== undefined,
  };
  const needs: Provider['needs'] = provider?.needs ?? [];
  const problems = needs
    .filter((need) => !has[need])
    .map((need) => ({
      path: need === 'verifyToken' ? 'verifyTokenFile' : need,
      message: `is missing: ${mends[need]}`,
    }));
  const unused: [string, boolean, string][] = [
    ['webhookId', has.webhookId && !needs.includes('webhookId'), 'paypal'],
    ['topics', has.topics && !needs.includes('topics'), 'aws-sns'],
    ['key', source.key !== undefined && family !== 'standard', 'gitlab-signed and Standard Webhooks'],
    ['networks', source.networks !== undefined && family !== 'ip', 'yookassa'],
    [
      'verifyTokenFile',
      source.verifyTokenFile !== undefined && !needs.includes('verifyToken'),
      'meta and strava',
    ],
    [
      'verifyTokenEnv',
      source.verifyTokenEnv !== undefined && !needs.includes('verifyToken'),
      'meta and strava',
    ],
  ];
  for (const [path, isUnused, whom] of unused) {
    if (isUnused) problems.push({ path, message: `says nothing to this scheme, only to ${whom}; remove it` });
  }
  return problems;
}

/** Without a fragment, which no request carries. */
export function isWebUrl(text: string): boolean {
  return /^https?:\/\/[^\s#]+$/.test(text) && URL.canParse(text);
}
