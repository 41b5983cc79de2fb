import { LockUnavailableError } from '../../errors/index.js';
import type { SqlConnection } from '../sql/sql.connection.js';
import { corePool, type CoreConnection, type CorePool } from './mysql.client.js';
import { MysqlConnection } from './mysql.connection.js';
import { addressOf } from './mysql.address.js';
import { isMissingTable } from './mysql.errors.js';
import type { MysqlSettings } from './mysql-store.options.js';
import { ownPool } from './mysql.own-pool.js';
import type { MysqlSessions } from './mysql.place.js';

// Besides those that holds and waits take: for looking at them, and for ending them.
const SPARE_CONNECTIONS = 3;
// More than a pool is likely to have lost at once.
const STALE_CONNECTIONS = 20;
// A server that does not answer must not keep anybody from closing.
const CLOSE_TIMEOUT = 1_000;

/** Takes sessions out of a pool of mysql2. */
export class MysqlDriver implements MysqlSessions {
  readonly address: string;
  /** Statements that are worth the preparation: those of each lock. Lists of any length are not. */
  readonly prepared = new Set<string>();
  /** What is sent first on each connection. */
  greeting: readonly string[] = [];
  readonly #greeted = new WeakSet<CoreConnection>();
  readonly #owned: boolean;
  #pool: CorePool | undefined;
  #making: Promise<CorePool> | undefined;

  constructor(private readonly settings: MysqlSettings) {
    const { source } = settings;
    this.#owned = 'connection' in source;
    if ('pool' in source) this.#pool = corePool(source.pool);
    this.address = addressOf('connection' in source ? source.connection : this.#pool?.config?.connectionConfig);
  }

  /** What sessions select, if the pool says so; known once it is made. */
  get database(): string | undefined {
    const { database } = Object(this.#pool?.config?.connectionConfig) as { database?: unknown };
    return typeof database === 'string' && database !== '' ? database : undefined;
  }

  async connect(timeout: number): Promise<SqlConnection> {
    const pool = this.#pool ?? (await this.#make());
    if (this.settings.mode === 'table') return this.#take(pool, timeout);
    for (let tries = 1; ; tries += 1) {
      const connection = await this.#take(pool, timeout);
      // The end of a connection that lay in the pool may have come, and not been heard yet: all else would go wrong with it.
      await new Promise(setImmediate);
      if (!connection.ended || tries === STALE_CONNECTIONS) return connection;
    }
  }

  async close(): Promise<void> {
    if (!this.#owned) return;
    const pool = this.#pool ?? (await this.#making?.catch(() => undefined));
    if (!pool) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CLOSE_TIMEOUT).unref();
      pool.end(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #take(pool: CorePool, timeout: number): Promise<MysqlConnection> {
    return new Promise((resolve, reject) => {
      let late = false;
      const timer = setTimeout(() => {
        // After a blocked event loop a timer comes before the answer that has long arrived: that is heard first.
        setImmediate(() => {
          late = true;
          reject(new LockUnavailableError(`mysql at ${this.address}: no connection within ${timeout} ms`));
        });
      }, timeout).unref();
      pool.getConnection((error: Error | null, connection: CoreConnection) => {
        clearTimeout(timer);
        if (error) reject(error);
        // Nobody waits for it any more.
        else if (late) connection.release();
        else resolve(this.#greet(connection, timeout));
      });
    });
  }

  async #greet(core: CoreConnection, timeout: number): Promise<MysqlConnection> {
    const connection = new MysqlConnection(core, this.address, !this.#owned, this.prepared);
    if (this.greeting.length === 0 || this.#greeted.has(core)) return connection;
    try {
      for (const text of this.greeting) await connection.query(text, [], timeout);
    } catch (error) {
      // Whoever makes the tables sends it as well.
      if (!isMissingTable(error)) {
        connection.release();
        throw error;
      }
    }
    this.#greeted.add(core);
    return connection;
  }

  #make(): Promise<CorePool> {
    const { source, mode, maxConnections, connectTimeout } = this.settings;
    const connection = 'connection' in source ? source.connection : {};
    const connectionLimit = mode === 'table' ? maxConnections : maxConnections + SPARE_CONNECTIONS;
    this.#making ??= ownPool({ connection, connectionLimit, connectTimeout }).then(
      (pool) => (this.#pool = pool),
      (error: unknown) => {
        this.#making = undefined;
        throw error;
      },
    );
    return this.#making;
  }
}
