import { chatProviders } from './chat.ts';
import { cloudProviders } from './clouds.ts';
import { codeProviders } from './code.ts';
import { mailProviders } from './mail.ts';
import { paymentProviders } from './payments.ts';
import type { Providers } from './provider.ts';
import { workProviders } from './work.ts';

export {
  type HandshakeName,
  handshakeNames,
  type Provider,
  type Reply,
  rateOfOneShotSenders,
} from './provider.ts';

/**
 * Schemes by name. Adding a sender of a known family is a row here, a vector in test/data/provider-vectors.json and a guide
 * in src/inbound/guides: see CONTRIBUTING.md.
 */
export const providers: Providers = {
  ...codeProviders,
  ...paymentProviders,
  ...chatProviders,
  ...mailProviders,
  ...workProviders,
  ...cloudProviders,
};
