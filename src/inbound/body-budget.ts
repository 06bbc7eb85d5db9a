/**
 * Memory for bodies that are being read or wait for their commit (IN-9). A request that does not fit is answered
 * 503 before its body is read.
 */
export class BodyBudget {
  readonly #most: number;
  #used = 0;

  constructor(mostBytes = 64 * 1024 * 1024) {
    this.#most = mostBytes;
  }

  /** Takes `bytes`, or takes nothing and says false. */
  reserve(bytes: number): boolean {
    if (this.#used + bytes > this.#most) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }

  get usedBytes(): number {
    return this.#used;
  }
}
