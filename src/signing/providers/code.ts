import type { SchemeDescription } from '../scheme.ts';
import { hmac, type Providers } from './provider.ts';

const gitlabIdentity = {
  eventId: [{ header: 'Idempotency-Key' }, { header: 'X-Gitlab-Event-UUID' }],
  eventType: [{ json: 'object_kind' }, { json: 'event_name' }, { header: 'X-Gitlab-Event' }],
} satisfies Partial<SchemeDescription>;

/** Both sign the JSON text: of a form the decoded field `payload`. Without a secret they send the header empty. */
function giteaScheme(name: 'Gitea' | 'Forgejo'): SchemeDescription {
  return {
    check: hmac(`X-${name}-Signature`, { body: 'payload-field' }),
    body: 'json-or-form',
    eventId: [{ header: `X-${name}-Delivery` }],
    eventType: [{ header: `X-${name}-Event-Type` }, { header: `X-${name}-Event` }],
  };
}

/** Git hosts, builds and deployments. */
export const codeProviders: Providers = {
  // "Validating webhook deliveries"; the delivery id stays the same on redelivery.
  github: {
    title: 'GitHub',
    scheme: {
      check: hmac('X-Hub-Signature-256', { prefix: 'sha256=' }),
      body: 'json-or-form',
      eventId: [{ header: 'X-GitHub-Delivery' }],
      eventType: [{ header: 'X-GitHub-Event', action: 'action' }],
    },
    retries: 'none',
    maxPayloadKb: 25_600,
    skippedTypes: ['ping'],
  },
  gitlab: {
    title: 'GitLab (secret token)',
    scheme: { check: { family: 'token', from: { header: 'X-Gitlab-Token' } }, ...gitlabIdentity },
    retries: 'none',
    maxPayloadKb: 25_600,
  },
  // Whether a secret without whsec_ is text or base64 is not documented: `key` of the source says.
  'gitlab-signed': {
    title: 'GitLab (signing token)',
    scheme: {
      check: { family: 'standard', headers: ['webhook'] },
      ...gitlabIdentity,
      eventId: [{ header: 'webhook-id' }],
    },
    retries: 'none',
    toleranceSeconds: 300,
    maxPayloadKb: 25_600,
  },
  bitbucket: {
    title: 'Bitbucket Cloud',
    scheme: {
      check: hmac('X-Hub-Signature', { prefix: 'sha256=' }),
      eventId: [{ header: 'X-Request-UUID' }],
      eventType: [{ header: 'X-Event-Key' }],
    },
    retries: 'hours',
  },
  'bitbucket-server': {
    title: 'Bitbucket Server and Data Center',
    scheme: {
      check: hmac('X-Hub-Signature', { prefix: 'sha256=' }),
      eventId: [{ header: 'X-Request-Id' }],
      eventType: [{ header: 'X-Event-Key' }],
    },
    handshake: 'bitbucket',
    retries: 'none',
  },
  gitea: { title: 'Gitea', scheme: giteaScheme('Gitea'), retries: 'none' },
  forgejo: { title: 'Forgejo', scheme: giteaScheme('Forgejo'), retries: 'none' },
  circleci: {
    title: 'CircleCI',
    scheme: {
      check: hmac('circleci-signature', { list: ',', field: 'v1' }),
      eventId: [{ json: 'id' }],
      eventType: [{ header: 'circleci-event-type' }, { json: 'type' }],
    },
    retries: 'hours',
  },
  dockerhub: {
    title: 'Docker Hub',
    scheme: {
      check: { family: 'none' },
      eventId: [
        {
          parts: [
            { json: 'repository.repo_name' },
            { json: 'push_data.tag' },
            { json: 'push_data.pushed_at' },
          ],
        },
        { digest: 'body' },
      ],
      eventType: [{ value: 'push' }],
    },
    retries: 'none',
  },
  vercel: {
    title: 'Vercel',
    scheme: {
      check: hmac('x-vercel-signature', { hash: 'sha1' }),
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'type' }],
    },
    retries: 'days',
  },
  'azure-devops': {
    title: 'Azure DevOps service hooks',
    scheme: { check: { family: 'basic' }, eventId: [{ json: 'id' }], eventType: [{ json: 'eventType' }] },
    retries: 'hours',
  },
  sentry: {
    title: 'Sentry (integration platform)',
    scheme: {
      check: hmac('Sentry-Hook-Signature'),
      eventId: [{ header: 'Request-ID' }, { digest: 'body' }],
      eventType: [{ parts: [{ header: 'Sentry-Hook-Resource' }, { json: 'action' }] }],
    },
    retries: 'none',
  },
  pagerduty: {
    title: 'PagerDuty v3',
    scheme: {
      check: hmac('X-PagerDuty-Signature', { list: ',', field: 'v1' }),
      eventId: [{ json: 'event.id' }],
      eventType: [{ json: 'event.event_type' }],
    },
    retries: 'hours',
    maxPayloadKb: 2_048,
    skippedTypes: ['pagey.ping'],
  },
};
