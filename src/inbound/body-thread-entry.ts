import { parentPort } from 'node:worker_threads';
import type { Scheme } from '../signing/index.ts';
import type { ThreadOrder } from './body-thread.ts';
import { type Inspected, inspect, type Keyed } from './inspect.ts';
import { requiredScheme, schemeOf } from './sources.ts';

/** The thread of `BodyThread`. Compiled schemes are kept by the text of their configuration. */
const compiled = new Map<string, readonly Scheme[]>();

parentPort?.on('message', (order: ThreadOrder) => {
  const inspected = inspectOrder(order);
  // The payload stays here: to send it would cost the listener what the thread has saved.
  parentPort?.postMessage(inspected.ok ? { ...inspected, payload: undefined } : inspected);
});

function inspectOrder({ config, keys, envelope, ...by }: ThreadOrder): Inspected {
  const schemes = schemesOf(config);
  const checks = schemes.map((scheme, index) => ({ scheme, keys: keys[index] ?? [] }));
  const body = Buffer.from(envelope.body);
  const content = by.content === undefined ? undefined : Buffer.from(by.content);
  return inspect({ ...envelope, body }, { ...by, content, checks: checks as [Keyed, ...Keyed[]] });
}

function schemesOf(config: ThreadOrder['config']): readonly Scheme[] {
  const key = JSON.stringify(config);
  const known = compiled.get(key) ?? [schemeOf(config), ...(config.require ?? []).map(requiredScheme)];
  compiled.set(key, known);
  return known;
}
