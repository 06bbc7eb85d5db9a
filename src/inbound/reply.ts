import type { Provider, Reply } from '../signing/index.ts';

/**
 * What a sender is answered whose webhook was taken: 200 without a body, unless it wants another answer. Undefined is the
 * usual one. Discord's interactions wait for a word of their own; events of Discord want 204.
 */
export function replyTo(provider: Provider | undefined, payload: unknown): Reply | undefined {
  const interaction = provider?.handshake === 'discord' ? interactionReply(payload) : undefined;
  return interaction ?? provider?.reply;
}

/** "Interaction callback types": deferred, so that the handler has 15 minutes to follow up with the token of the body. */
const callbackTypes: Record<number, object> = {
  2: { type: 5 },
  3: { type: 6 },
  4: { type: 8, data: { choices: [] } },
  5: { type: 5 },
};

function interactionReply(payload: unknown): Reply | undefined {
  const { type, event } = (payload ?? {}) as { type?: unknown; event?: unknown };
  const callback = event === undefined && typeof type === 'number' ? callbackTypes[type] : undefined;
  return callback === undefined
    ? undefined
    : { status: 200, contentType: 'application/json', body: JSON.stringify(callback) };
}
