/** Keeps the end of what was written, where errors stand, in at most twice `most` bytes of memory. */
export class OutputTail {
  readonly #most: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #seen = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#kept += bytes.length;
    this.#seen += bytes.length;
    if (this.#kept > 2 * this.#most) this.#cut();
  }

  take(): { output: Buffer; omittedBytes: number } {
    this.#cut();
    return { output: this.#chunks[0] as Buffer, omittedBytes: this.#seen - this.#kept };
  }

  #cut(): void {
    const tail = Buffer.concat(this.#chunks).subarray(-this.#most);
    this.#chunks = [Buffer.from(tail)];
    this.#kept = tail.length;
  }
}
