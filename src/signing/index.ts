/**
 * Signing and verifying webhooks. Depends on node:crypto and core alone, so that it can be read, tested and
 * published by itself.
 *
 *   description (providers.ts, or the user's)  --compileScheme-->  Scheme  --verify / identify / sign-->  verdict
 *   a message of ours  --signStandard-->  the headers of Standard Webhooks
 *
 * Invariants: the raw bytes are judged, never a decoded form; the comparison is constant-time over a fixed
 * length; the sender chooses nothing; nothing here throws on what a sender sent; no secret leaves.
 * Not here: reading secrets (platform/secrets), limits on bodies (inbound), fetching keys.
 * To add a scheme by data see providers.ts; what data can say is described in scheme.ts.
 */
export { claimedEventId, type Identity, identify } from './identify.ts';
export { type Provider, providers } from './providers.ts';
export { compileScheme, type HmacDescription, type Scheme, schemeProblems } from './scheme.ts';
export { secretProblem, signingKey } from './secrets.ts';
export { sign } from './sign.ts';
export { type StandardHeaders, signStandard, standardSecret, standardSecretProblem } from './standard.ts';
export { type Verdict, verify } from './verify.ts';
