/** The library: types for handler modules. */
export type { HandlerContext, HandlerEvent, Register } from './inbound/index.ts';
