import type { HmacDescription } from './scheme.ts';

/** What is known of a sender: how it signs and how it behaves. */
export type Provider = {
  readonly title: string;
  readonly scheme: HmacDescription;
  /** Bodies that this sender is known to send, in KiB; wins over the general setting. */
  readonly maxPayloadKb?: number;
  /** Event types that say nothing about the user's data: journaled as `skipped`, never handled. */
  readonly skippedTypes?: readonly string[];
};

/**
 * Schemes by name. Adding a sender of a known family is a row here, a vector in test/data and a page in docs.
 * github: the provider's page "Validating webhook deliveries"; the delivery id stays the same on redelivery.
 */
export const providers: Readonly<Record<string, Provider>> = {
  github: {
    title: 'GitHub',
    scheme: {
      hmac: 'sha256',
      header: 'X-Hub-Signature-256',
      prefix: 'sha256=',
      encoding: 'hex',
      signed: '{body}',
      eventId: { header: 'X-GitHub-Delivery' },
      eventType: { header: 'X-GitHub-Event', action: 'action' },
    },
    maxPayloadKb: 1024,
    skippedTypes: ['ping'],
  },
};
