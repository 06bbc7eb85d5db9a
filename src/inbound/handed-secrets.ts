import type { KeyObject } from 'node:crypto';
import type { Pool } from '../platform/db.ts';
import type { Encryption } from '../platform/encryption.ts';
import type { Log } from '../platform/log.ts';
import { addHandedSecret, findHandedSecrets } from './handed-secrets-store.ts';
import type { SourceConfig } from './settings.ts';
import { isHandedOver } from './source-keys.ts';
import { schemeOf } from './sources.ts';

const lookEveryMs = 1_000;

/**
 * The secrets that senders handed over in their handshake (Asana, Notion), of the sources that name none. They are
 * encrypted in the database, since every gateway needs them; each looks once a second for what another one took.
 */
export class HandedSecrets {
  readonly #sources: ReadonlyMap<string, SourceConfig>;
  readonly #pool: Pool;
  readonly #encryption: () => Encryption;
  readonly #log: Log;
  #keys = new Map<string, readonly KeyObject[]>();
  #timer: NodeJS.Timeout | undefined;

  /** `encryption` is asked for at the first need, so that nobody has a key file who needs none. */
  constructor(
    configs: Readonly<Record<string, SourceConfig>>,
    deps: { pool: Pool; encryption: () => Encryption; log: Log },
  ) {
    this.#sources = new Map(Object.entries(configs).filter(([, config]) => isHandedOver(config)));
    this.#pool = deps.pool;
    this.#encryption = deps.encryption;
    this.#log = deps.log;
  }

  /** The keys of such a source; undefined for every other one. */
  keysOf(code: string): readonly KeyObject[] | undefined {
    return this.#sources.has(code) ? (this.#keys.get(code) ?? []) : undefined;
  }

  /** Reads what there is, then goes on looking. */
  async start(): Promise<void> {
    if (this.#sources.size === 0) return;
    await this.look();
    this.#timer = setInterval(() => void this.look().catch(() => {}), lookEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    const found = await findHandedSecrets(this.#pool, [...this.#sources.keys()]);
    const keys = new Map<string, readonly KeyObject[]>();
    for (const { code, secret } of found) {
      const key = this.#keyOf(code, secret);
      if (key !== undefined) keys.set(code, [key]);
    }
    this.#keys = keys;
  }

  /** Stores a secret; 'refused' where the source has one already, or takes none from its sender. */
  async take(code: string, source: number, secret: string): Promise<'taken' | 'refused' | 'unavailable'> {
    const config = this.#sources.get(code);
    if (config === undefined || schemeOf(config).check.secretProblem(secret) !== undefined) return 'refused';
    try {
      const isAdded = await addHandedSecret(this.#pool, source, this.#encryption().encrypt(secret, code));
      await this.look();
      if (isAdded)
        this.#log.info({ event: 'secret.handed_over', source: code }, `took the secret of source ${code}`);
      return isAdded ? 'taken' : 'refused';
    } catch (error) {
      this.#log.error(
        { event: 'secret.not_taken', source: code, reason: (error as Error).message },
        `the secret that source ${code} was handed could not be stored`,
      );
      return 'unavailable';
    }
  }

  #keyOf(code: string, sealed: Buffer): KeyObject | undefined {
    try {
      return schemeOf(this.#sources.get(code) as SourceConfig).check.keyOf(
        this.#encryption().decrypt(sealed, code),
      );
    } catch (error) {
      this.#log.error(
        { event: 'secret.unreadable', source: code, reason: (error as Error).message },
        `the stored secret of source ${code} cannot be read: bring back its key file, or forget it with: posthorn sources forget ${code}`,
      );
      return undefined;
    }
  }
}
