/**
 * Signing and verifying webhooks. Depends on core and on built-in modules of Node that do no input or output, so that
 * it can be read, tested and published by itself (`posthorn/verify`).
 *
 *   description (providers/, or the user's)  --compileScheme-->  Scheme  --verify / identify / sign-->  verdict
 *   a message of ours  --signStandard-->  the headers of Standard Webhooks
 *
 * A scheme is a check of one of twelve families (families.ts, one file each) and the rules by which id, type and items
 * are found (identify.ts).
 *
 * Invariants: the raw bytes are judged, never a decoded form; the comparison is constant-time over a fixed
 * length; the sender chooses nothing; nothing here throws on what a sender sent; no secret leaves.
 * Not here: reading secrets (platform/secrets), limits on bodies (inbound), fetching certificates.
 */

export type { CheckContext, Draft, SchemeOptions, Signer, Verdict } from './check.ts';
export { formValue } from './form-body.ts';
export { type HmacDescription, schemeProblems } from './hmac-description.ts';
export { claimedEventId, type Identity, type Item, identify, itemsOf } from './identify.ts';
export { parseJsonBody } from './json-body.ts';
export { usedToken } from './mailgun-body.ts';
export { parseBody } from './parse-body.ts';
export {
  type HandshakeName,
  type Provider,
  providers,
  type Reply,
  rateOfOneShotSenders,
} from './providers/index.ts';
export { sampleRequest } from './sample.ts';
export { compileScheme, type Scheme, type SchemeDescription } from './scheme.ts';
export { sign } from './sign.ts';
export {
  type StandardHeaders,
  signStandard,
  standardSecret,
  standardSecretProblem,
} from './sign-standard.ts';
export { timeUnits } from './timestamp.ts';
export { isToken } from './token.ts';
export { type VerifyOptions, verify } from './verify.ts';
