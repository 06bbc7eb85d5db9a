/**
 * Array parameters in PostgreSQL's binary format (`array_send` in its src/backend/utils/adt/arrayfuncs.c): dimensions,
 * whether there are nulls, the element's type, then each element as length and bytes. node-postgres sends a Buffer as a
 * binary parameter, but turns a JavaScript array into escaped text, a bytea[] even into hexadecimal digits.
 */
const oids = { int2: 21, int4: 23, float8: 701, text: 25, bytea: 17 };
const headerBytes = 20;

/** Writes several arrays into one growing buffer; each call gives one parameter. Made anew for each statement. */
export class BinaryArrays {
  #buffer: Buffer;
  #end = 0;

  constructor(expectedBytes: number) {
    this.#buffer = Buffer.allocUnsafe(expectedBytes);
  }

  text<T>(items: readonly T[], get: (item: T) => string | null): Buffer {
    const start = this.#begin(oids.text, items.length);
    for (const item of items) {
      const value = get(item);
      if (value === null) {
        this.#int32(-1);
        continue;
      }
      // UTF-8 takes at most three bytes for a UTF-16 unit.
      this.#ensure(4 + value.length * 3);
      const written = this.#buffer.write(value, this.#end + 4);
      this.#buffer.writeInt32BE(written, this.#end);
      this.#end += 4 + written;
    }
    return this.#finish(start);
  }

  bytea<T>(items: readonly T[], get: (item: T) => Buffer): Buffer {
    const start = this.#begin(oids.bytea, items.length);
    for (const item of items) {
      const value = get(item);
      this.#int32(value.length);
      this.#ensure(value.length);
      value.copy(this.#buffer, this.#end);
      this.#end += value.length;
    }
    return this.#finish(start);
  }

  int2<T>(items: readonly T[], get: (item: T) => number): Buffer {
    const start = this.#begin(oids.int2, items.length);
    for (const item of items) {
      this.#int32(2);
      this.#ensure(2);
      this.#end = this.#buffer.writeInt16BE(get(item), this.#end);
    }
    return this.#finish(start);
  }

  int4<T>(items: readonly T[], get: (item: T) => number): Buffer {
    const start = this.#begin(oids.int4, items.length);
    for (const item of items) {
      this.#int32(4);
      this.#int32(get(item));
    }
    return this.#finish(start);
  }

  float8<T>(items: readonly T[], get: (item: T) => number): Buffer {
    const start = this.#begin(oids.float8, items.length);
    for (const item of items) {
      this.#int32(8);
      this.#ensure(8);
      this.#end = this.#buffer.writeDoubleBE(get(item), this.#end);
    }
    return this.#finish(start);
  }

  #begin(elementOid: number, length: number): number {
    const start = this.#end;
    this.#ensure(headerBytes);
    this.#int32(1);
    this.#int32(1);
    this.#int32(elementOid);
    this.#int32(length);
    this.#int32(1);
    return start;
  }

  #finish(start: number): Buffer {
    return this.#buffer.subarray(start, this.#end);
  }

  #int32(value: number): void {
    this.#ensure(4);
    this.#end = this.#buffer.writeInt32BE(value, this.#end);
  }

  /** A larger buffer takes over; parameters that were given out keep the former one. */
  #ensure(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}
