/** Milliseconds since 1970. Everything that asks for "now" is given one of these; tests give another. */
export type Clock = { now(): number };

export const systemClock: Clock = { now: () => Date.now() };
