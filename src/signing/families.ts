import { type AdyenItemCheck, adyenItemCheck } from './adyen-item.ts';
import { type BasicCheck, basicCheck } from './basic.ts';
import type { Check, SchemeOptions } from './check.ts';
import { type HmacCheck, hmacCheck } from './hmac.ts';
import { type IpCheck, ipCheck } from './ip.ts';
import { type JwtBodyHashCheck, jwtBodyHashCheck } from './jwt-body-hash.ts';
import { type MailgunBodyCheck, mailgunBodyCheck } from './mailgun-body.ts';
import { type NoneCheck, noneCheck } from './none.ts';
import { type PublicKeyCheck, publicKeyCheck } from './public-key.ts';
import { type RsaCertCheck, rsaCertCheck } from './rsa-cert.ts';
import { type StandardCheck, standardCheck } from './standard.ts';
import { type TokenCheck, tokenCheck } from './token.ts';
import { type TwilioCheck, twilioCheck } from './twilio.ts';

/** A check as data: the settings of one family. */
export type CheckDescription =
  | HmacCheck
  | StandardCheck
  | TwilioCheck
  | AdyenItemCheck
  | MailgunBodyCheck
  | PublicKeyCheck
  | RsaCertCheck
  | TokenCheck
  | BasicCheck
  | IpCheck
  | JwtBodyHashCheck
  | NoneCheck;

export type Family = CheckDescription['family'];

/** Fills a family in. One file per family; this is the only place that knows them all. */
export function compileCheck(description: CheckDescription, options: SchemeOptions): Check {
  switch (description.family) {
    case 'hmac':
    case 'digest':
      return hmacCheck(description, options);
    case 'standard':
      return standardCheck(description, options);
    case 'twilio':
      return twilioCheck(options);
    case 'adyen-item':
      return adyenItemCheck;
    case 'mailgun-body':
      return mailgunBodyCheck;
    case 'ed25519':
    case 'ecdsa':
      return publicKeyCheck(description);
    case 'rsa-cert':
      return rsaCertCheck(description, options);
    case 'token':
      return tokenCheck(description);
    case 'basic':
      return basicCheck;
    case 'ip':
      return ipCheck(description, options);
    case 'jwt-body-hash':
      return jwtBodyHashCheck(description);
    case 'none':
      return noneCheck;
  }
}
