/** A small seeded generator (mulberry32): the same seed gives the same run of numbers on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }

  shuffled<T>(list: readonly T[]): T[] {
    const dealt = [...list];
    for (let at = dealt.length - 1; at > 0; at--) {
      const other = this.between(0, at);
      [dealt[at], dealt[other]] = [dealt[other] as T, dealt[at] as T];
    }
    return dealt;
  }

  /** A generator of its own for one part of the run, so that no part's draws depend on another's pace. */
  fork(name: string): Random {
    let hash = this.#state;
    for (const char of name) hash = Math.imul(hash ^ (char.codePointAt(0) as number), 0x01000193);
    return new Random(hash);
  }
}
