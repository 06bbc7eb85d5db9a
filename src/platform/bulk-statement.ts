import type { Connection, Submittable } from 'pg';
import type { Pool, PoolClient } from './db.ts';

/**
 * A statement whose parameters are long arrays, sent in PostgreSQL's binary format by one Bind message of our own.
 *
 * node-postgres turns an array into escaped text (a bytea[] into hexadecimal digits) and copies it through buffers that
 * grow from nothing at each statement: with a thousand rows a second that was a fifth of the process. Here the message
 * is written once, into memory that is used again. Formats: "Message Formats" in PostgreSQL's manual; `array_recv` in
 * its src/backend/utils/adt/arrayfuncs.c.
 */
export type BulkStatement = { readonly name: string; readonly text: string; readonly parameters: number };

/**
 * Runs a bulk statement that gives one row with one column, and gives that column's text. `write` adds the parameters,
 * in order. `named: false` behind a transaction-mode pooler. Rejects with pg's DatabaseError, or whatever cut the
 * connection (which is thrown away).
 */
export async function runBulk(
  pool: Pool,
  statement: BulkStatement,
  { named, write }: { named: boolean; write: (parameters: BulkParameters) => void },
): Promise<string | null> {
  const client = await pool.connect();
  const parameters = BulkParameters.take(named ? statement.name : '', statement.parameters);
  let isBroken = true;
  try {
    write(parameters);
    const value = await submit(client, statement, { named, message: parameters.message() });
    isBroken = false;
    // Only after success: an error can arrive while the socket still has to send these bytes.
    parameters.giveBack();
    return value;
  } catch (error) {
    isBroken = (error as { severity?: string }).severity !== 'ERROR';
    throw error;
  } finally {
    client.release(isBroken);
  }
}

const oids = { int2: 21, int4: 23, float8: 701, text: 25, bytea: 17 };
const keptBuffers = 4;
const keptBufferBytes = 1024 * 1024;

/** The Bind message in the making. Each method adds one parameter: an array with the values of `get` of all items. */
export class BulkParameters {
  static readonly #kept: Buffer[] = [];
  #buffer: Buffer;
  #end = 0;

  private constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  static take(statementName: string, parameters: number): BulkParameters {
    const bulk = new BulkParameters(BulkParameters.#kept.pop() ?? Buffer.allocUnsafe(256 * 1024));
    bulk.#begin(statementName, parameters);
    return bulk;
  }

  giveBack(): void {
    const kept = BulkParameters.#kept;
    if (kept.length < keptBuffers && this.#buffer.length <= keptBufferBytes) kept.push(this.#buffer);
    this.#buffer = Buffer.alloc(0);
  }

  text<T>(items: readonly T[], get: (item: T) => string | null): void {
    const start = this.#beginArray(oids.text, items.length);
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
    this.#endArray(start);
  }

  bytea<T>(items: readonly T[], get: (item: T) => Buffer): void {
    const start = this.#beginArray(oids.bytea, items.length);
    for (const item of items) {
      const value = get(item);
      this.#int32(value.length);
      this.#ensure(value.length);
      value.copy(this.#buffer, this.#end);
      this.#end += value.length;
    }
    this.#endArray(start);
  }

  int2<T>(items: readonly T[], get: (item: T) => number): void {
    const start = this.#beginArray(oids.int2, items.length);
    for (const item of items) {
      this.#int32(2);
      this.#int16(get(item));
    }
    this.#endArray(start);
  }

  int4<T>(items: readonly T[], get: (item: T) => number): void {
    const start = this.#beginArray(oids.int4, items.length);
    for (const item of items) {
      this.#int32(4);
      this.#int32(get(item));
    }
    this.#endArray(start);
  }

  float8<T>(items: readonly T[], get: (item: T) => number): void {
    const start = this.#beginArray(oids.float8, items.length);
    for (const item of items) {
      this.#int32(8);
      this.#ensure(8);
      this.#end = this.#buffer.writeDoubleBE(get(item), this.#end);
    }
    this.#endArray(start);
  }

  /** Bind, Execute and Sync, ready to be sent. */
  message(): Buffer {
    this.#int16(0); // results in their text format
    this.#buffer.writeInt32BE(this.#end - 1, 1);
    this.#byte('E');
    this.#int32(9);
    this.#cString(''); // the unnamed portal
    this.#int32(0); // all rows
    this.#byte('S');
    this.#int32(4);
    return this.#buffer.subarray(0, this.#end);
  }

  #begin(statementName: string, parameters: number): void {
    this.#byte('B');
    this.#int32(0); // the length, known at the end
    this.#cString('');
    this.#cString(statementName);
    this.#int16(1);
    this.#int16(1); // every parameter in its binary format
    this.#int16(parameters);
  }

  #beginArray(elementOid: number, length: number): number {
    const start = this.#end;
    this.#int32(0); // the parameter's length, known at the end
    this.#int32(1); // dimensions
    this.#int32(1); // there may be nulls
    this.#int32(elementOid);
    this.#int32(length);
    this.#int32(1); // lower bound
    return start;
  }

  #endArray(start: number): void {
    this.#buffer.writeInt32BE(this.#end - start - 4, start);
  }

  #byte(character: string): void {
    this.#ensure(1);
    this.#end = this.#buffer.writeUInt8(character.charCodeAt(0), this.#end);
  }

  #cString(text: string): void {
    this.#ensure(text.length * 3 + 1);
    this.#end += this.#buffer.write(text, this.#end);
    this.#end = this.#buffer.writeUInt8(0, this.#end);
  }

  #int16(value: number): void {
    this.#ensure(2);
    this.#end = this.#buffer.writeInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#ensure(4);
    this.#end = this.#buffer.writeInt32BE(value, this.#end);
  }

  #ensure(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

/** What of pg's connection is used; its types leave this out. */
type Wire = Connection & { parsedStatements: Record<string, string | undefined> };
/** What pg's client calls on a query of somebody else's; its types say `submit` alone. */
type WireQuery = Submittable & { readonly name: string; readonly text: string; [handler: string]: unknown };

function submit(
  client: PoolClient,
  { name, text }: BulkStatement,
  { named, message }: { named: boolean; message: Buffer },
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    let value: string | null = null;
    const query: WireQuery = {
      name: named ? name : '',
      text,
      // The client wraps this to keep its own time-out.
      callback: (error?: Error) => (error ? reject(error) : resolve(value)),
      submit(connection: Connection) {
        const wire = connection as Wire;
        if (!named || wire.parsedStatements[name] === undefined) {
          wire.parse({ name: named ? name : '', text, types: [] }, true);
        }
        wire.stream.write(message);
      },
      handleRowDescription() {},
      handleDataRow: ({ fields }: { fields: (string | null)[] }) => {
        value = fields[0] ?? null;
      },
      handleCommandComplete() {},
      handlePortalSuspended() {},
      handleEmptyQuery() {},
      handleReadyForQuery: () => (query.callback as () => void)(),
      handleError: (error: Error) => (query.callback as (error: Error) => void)(error),
    };
    client.query(query);
  });
}
