/**
 * Memory for bodies that are being read or wait for their commit (IN-9). Only bytes that have arrived count: a sender who
 * announces a long body and stays silent must not take room from others. Long bodies share three quarters of it, so
 * that ordinary webhooks still get in when somebody fills that share with bodies that never end.
 */
export class BodyBudget {
  readonly #most: number;
  #used = 0;

  constructor(mostBytes = 64 * 1024 * 1024) {
    this.#most = mostBytes;
  }

  /** Takes `bytes` for a body of which `held` bytes are held already; or takes nothing and says false. */
  reserve(bytes: number, held: number): boolean {
    const most = held + bytes > longBodyBytes ? this.#most * 0.75 : this.#most;
    if (this.#used + bytes > most) return false;
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

const longBodyBytes = 64 * 1024;
