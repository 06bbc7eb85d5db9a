/** The library: types for handler modules. */
export type {
  HandlerContext,
  HandlerEvent,
  Register,
  WebhookProcessingFailed,
  WebhookReceived,
} from './inbound/index.ts';
