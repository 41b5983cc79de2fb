import { systemClock } from '../../contract/index.js';
import { LockOptionsError, LockUnavailableError } from '../../errors/index.js';
import type { SqlPool } from '../sql/sql.connection.js';
import { hasAnother, type PgClient, type PgConfig, type PgPool } from './postgres.client.js';
import { PgConnection, type Preparing } from './postgres.connection.js';

/** Where the sessions come from: a pool of the user's, or one of our own that is made at the first use. */
export class PgSessions implements SqlPool {
  #pool: PgPool | undefined;
  #making: Promise<PgPool> | undefined;
  #closed = false;
  readonly #preparing: Preparing = { on: true };
  /** A pool that ends forgets those who wait for one of its clients. */
  readonly #waiting = new Set<() => void>();
  readonly #onError = (): void => undefined;

  constructor(
    private readonly source: { readonly pool: PgPool } | { readonly config: PgConfig },
    readonly address: string,
  ) {}

  /** A session outside of any transaction: what a lock writes must be committed by nobody else, and undone by nobody. */
  async connect(timeout: number): Promise<PgConnection> {
    if (this.#closed) throw this.#closedError();
    const pool = this.#pool ?? (await this.#made());
    const end = performance.now() + timeout;
    const skipped: PgConnection[] = [];
    try {
      for (;;) {
        const connection = await this.#take(pool, timeout, end);
        // It has ended as soon as it was there, which says nothing about the next one.
        if (connection.isOver) {
          if (performance.now() < end) continue;
          throw this.#lateError(timeout);
        }
        if (connection.isIdle || (await connection.becomesIdle(timeout))) return connection;
        skipped.push(connection);
        if (!hasAnother(pool)) throw this.#inTransaction();
      }
    } finally {
      // As they came: whoever began that transaction may still mean to end it.
      for (const connection of skipped) connection.release();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const giveUp of this.#waiting) giveUp();
    const pool = await this.#making?.catch(() => undefined);
    this.#making = undefined;
    if (!pool) return;
    pool.removeListener('error', this.#onError);
    if ('pool' in this.source) return;
    // Its clients may still report their end.
    pool.on('error', () => undefined);
    await (pool as PgPool & { end(): Promise<void> }).end();
  }

  #made(): Promise<PgPool> {
    this.#making ??= this.#make().catch((error: unknown) => {
      this.#making = undefined;
      throw error;
    });
    return this.#making;
  }

  async #make(): Promise<PgPool> {
    const pool = 'pool' in this.source ? this.source.pool : await ownPool(this.source.config);
    // The end of an idle session is no reason for the process to end.
    pool.on('error', this.#onError);
    this.#pool = pool;
    return pool;
  }

  #take(pool: PgPool, timeout: number, end: number): Promise<PgConnection> {
    return new Promise((resolve, reject) => {
      let settled = false;
      const settle = (): void => {
        settled = true;
        this.#waiting.delete(close);
        timer.cancel();
      };
      const fail = (reason: unknown): void => {
        settle();
        reject(reason);
      };
      const close = (): void => fail(this.#closedError());
      const full = !hasAnother(pool);
      const timer = systemClock.after(Math.max(0, end - performance.now()), () => {
        // After a blocked event loop the client may have been there long ago: it is heard of first.
        setImmediate(() => {
          if (!settled) fail(this.#lateError(timeout, full ? pool.totalCount : undefined));
        });
      });
      this.#waiting.add(close);
      let heard = false;
      const done = (error: unknown, client?: PgClient): void => {
        // A wrapper may pass the callback on and give a promise as well.
        if (heard) return;
        heard = true;
        if (!client) fail(error);
        else if (settled) client.release();
        else {
          settle();
          resolve(new PgConnection(client, this.address, this.#preparing));
        }
      };
      // By its callback: when a promise is heard, an error that came with the client has already ended the process.
      const promised = pool.connect(done) as Partial<PromiseLike<PgClient | undefined>> | undefined;
      promised?.then?.((client) => client && done(undefined, client), done);
    });
  }

  #lateError(timeout: number, taken?: number): LockUnavailableError {
    const within = `within ${Math.round(timeout)} ms`;
    return new LockUnavailableError(
      taken === undefined
        ? `no connection to PostgreSQL at ${this.address} ${within}`
        : `all ${taken} connections of the pool to PostgreSQL at ${this.address} are in use, or still being made: ` +
            `none became free ${within}`,
    );
  }

  #inTransaction(): LockUnavailableError {
    return new LockUnavailableError(
      `the pool of PostgreSQL at ${this.address} handed out a client within a transaction, in which a lock would be ` +
        'undone with it: a COMMIT or ROLLBACK is missing in the application before it releases that client. ' +
        'Or let the store make a pool of its own (connection)',
    );
  }

  #closedError(): LockUnavailableError {
    return new LockUnavailableError(`the connections to PostgreSQL at ${this.address} were closed`, {
      retryable: false,
    });
  }
}

async function ownPool(config: PgConfig): Promise<PgPool> {
  let loaded: { Pool?: unknown; default?: { Pool?: unknown } };
  try {
    loaded = await import('pg');
  } catch (cause) {
    throw new LockOptionsError('postgresStore: a connection needs pg. Install pg, or pass a pool.', cause);
  }
  const Pool = (loaded.Pool ?? loaded.default?.Pool) as new (config: PgConfig) => PgPool;
  return new Pool(config);
}
