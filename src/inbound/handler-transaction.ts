import { inOnePacket, type Pool, type PoolClient } from '../platform/db.ts';

/**
 * The transaction of one run of a handler. It begins at the first query, with the handler's time-out as the limit of
 * each statement and of idling; mark and effect are committed together. The client is the run's alone, so that it can
 * be destroyed at the time-out without hurting anybody.
 */
export class HandlerTransaction {
  readonly #pool: Pool;
  readonly #runId: string;
  readonly #timeoutMs: number;
  #client: Promise<PoolClient> | undefined;
  #isBegun = false;
  #isOver = false;
  /** Whether a statement may have left something behind in the session: then its connection is not used again. */
  #isSessionChanged = false;

  constructor(pool: Pool, { runId, timeoutMs }: { runId: string; timeoutMs: number }) {
    this.#pool = pool;
    this.#runId = runId;
    this.#timeoutMs = timeoutMs;
  }

  get hasBegun(): boolean {
    return this.#client !== undefined;
  }

  async query(
    sql: string,
    params?: unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }> {
    if (this.#isOver) throw new Error('this run has ended; its transaction cannot be used any more');
    if (endsTransaction(sql)) {
      throw new Error(
        'tx is one transaction that posthorn begins, and commits with the mark that the run is done',
      );
    }
    if (changesSession(sql)) this.#isSessionChanged = true;
    this.#client ??= this.#pool.connect();
    const client = await this.#client;
    const result: unknown = await inOnePacket(client, () => {
      this.#begin(client);
      return client.query(sql, params);
    });
    // Of several statements in one text, the last one's.
    return (Array.isArray(result) ? result.at(-1) : result) as Awaited<
      ReturnType<HandlerTransaction['query']>
    >;
  }

  /**
   * Sends `mark` and the commit behind it, and gives what the mark answered once both are through; undefined where
   * nothing was committed. `mark` is one statement that fails if it may not be committed: PostgreSQL then answers the
   * commit with a rollback. Throws the mark's error, or the commit's, after which nobody knows.
   */
  async commit<T>(mark: (client: PoolClient) => Promise<T>): Promise<T | undefined> {
    if (this.#isOver || this.#client === undefined) throw new Error('the transaction is over');
    this.#isOver = true;
    const client = await this.#client;
    const [marked, ended] = await Promise.allSettled(
      inOnePacket(client, () => [mark(client), client.query('commit')] as const),
    );
    client.release(ended.status === 'rejected' || this.#isSessionChanged);
    if (ended.status === 'rejected') throw ended.reason;
    if (marked.status === 'rejected') throw marked.reason;
    return ended.value.command === 'COMMIT' ? marked.value : undefined;
  }

  async rollback(): Promise<void> {
    if (this.#isOver || this.#client === undefined) {
      this.#isOver = true;
      return;
    }
    this.#isOver = true;
    await this.#client.then(
      (client) =>
        client.query('rollback').then(
          () => client.release(this.#isSessionChanged),
          () => client.release(true),
        ),
      () => {},
    );
  }

  /** Cuts the connection: nothing that the handler still does can reach the database. */
  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client?.then(
      (client) => client.release(true),
      () => {},
    );
  }

  /**
   * Sent in front of the first statement, without waiting for its answer: if the transaction does not begin, the connection
   * is broken or the transaction is, and the statement fails as well.
   */
  #begin(client: PoolClient): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const limit = Math.max(1, Math.round(this.#timeoutMs));
    const begun = client.query(
      `begin; set local statement_timeout = ${limit}; set local idle_in_transaction_session_timeout = ${limit};
       set local posthorn.run = '${this.#runId}'`,
    );
    begun.catch(() => {});
  }
}

/**
 * Whether a statement of this text begins or ends a transaction. A block of PL/pgSQL has a begin and an end of its own,
 * and may not end a transaction that it did not begin.
 */
function endsTransaction(sql: string): boolean {
  return transactionStatement.test(codeOf(sql, { withBlocks: false }));
}

/** `rollback to a_savepoint` is the handler's own affair. */
const transactionStatement =
  /(^|;)\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(work\s+|transaction\s+)?to\b))\b/i;

/**
 * Settings, temporary tables, session locks, prepared statements, subscriptions: they outlive a transaction. A word such
 * as `set` counts only where a statement begins (also in a block of PL/pgSQL): an UPDATE has one too.
 */
function changesSession(sql: string): boolean {
  const code = codeOf(sql, { withBlocks: true });
  return sessionStatement.test(code) || sessionWord.test(code);
}

/** The text without its comments and quoted texts; `withBlocks` keeps what is quoted in dollars. */
function codeOf(sql: string, { withBlocks }: { withBlocks: boolean }): string {
  return sql.replace(quoted, (text) => (withBlocks && text.startsWith('$') ? text : ' '));
}

const quoted = /--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"(?:[^"]|"")*"/g;

const sessionStatement = /(^|;|\b(begin|then|else|loop)\b)\s*(set|reset|listen|prepare|declare|load)\b/i;
const sessionWord = /\b(temp|temporary|advisory|set_config|authorization)\b|advisory_lock/i;
