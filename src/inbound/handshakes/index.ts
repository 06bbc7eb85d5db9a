import type { HandshakeName } from '../../signing/index.ts';
import { asana, notion } from './handing-over.ts';
import type { Handshake } from './handshake.ts';
import { bitbucket, dropbox, intercom, microsoft, monday, okta, trello, woocommerce } from './repeating.ts';
import { discord, slack, sns, twitch, zoom } from './signed.ts';
import { meta, strava, x } from './tokens.ts';

export type { Handshake, Shake, ShakeContext, ShakeResult } from './handshake.ts';

/** The handshakes by name; a provider names its own (IN-8). */
export const handshakes: Readonly<Record<HandshakeName, Handshake>> = {
  asana,
  bitbucket,
  discord,
  dropbox,
  intercom,
  meta,
  microsoft,
  monday,
  notion,
  okta,
  slack,
  sns,
  strava,
  trello,
  twitch,
  woocommerce,
  x,
  zoom,
};
