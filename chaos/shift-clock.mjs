/**
 * Loaded into a server with NODE_OPTIONS=--import: its wall clock jumps by up to an hour, back and forth, every few
 * seconds, until the moment that POSTHORN_CHAOS_CLOCK names; then it is right again. Timers and performance.now stay
 * as they are, as they do when somebody sets a machine's clock.
 */
import { appendFileSync } from 'node:fs';

const mostMs = 3_600_000;
const TrueDate = Date;
const { until, jumpsFile } = JSON.parse(process.env.POSTHORN_CHAOS_CLOCK ?? '{"until":0}');
let offsetMs = 0;

const now = () => TrueDate.now() + (TrueDate.now() < until ? offsetMs : 0);

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length ? args : [now()], newTarget),
  apply: () => new TrueDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

function jump() {
  if (TrueDate.now() >= until) return;
  // Now and then right again, so that every direction of a jump occurs.
  offsetMs = Math.random() < 0.2 ? 0 : Math.round((2 * Math.random() - 1) * mostMs);
  appendFileSync(jumpsFile, `${process.pid} ${offsetMs}\n`);
  setTimeout(jump, 1_000 + 4_000 * Math.random()).unref();
}

jump();
