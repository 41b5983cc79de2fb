import type { StoreGuarantees, StoreInspection } from '../../contract/index.js';
import { LockOptionsError, type LockError } from '../../errors/index.js';
import { keyHash } from '../sql/key-hash.js';
import type { AskSession, SessionClaim, SessionDialect } from '../sql/session/session.dialect.js';
import type { SqlPool } from '../sql/sql.connection.js';
import { endedByServer, isMissingTable, unavailable } from './mysql.errors.js';
import { Holds } from './holds.js';
import type { MysqlPlace } from './mysql.place.js';
import type { MysqlTables } from './mysql.tables.js';
import type { MysqlSettings } from './mysql-store.options.js';
import { endSession, isBusy, leaveSession, type ServerSession } from './server-session.js';

// The server waits for hours, by default, for a client whose network has swallowed its farewell.
const SHORTEST_SILENCE = 60_000;

/** What `row` and `named` have in common. */
export abstract class SessionModes implements SessionDialect {
  abstract readonly mode: 'row' | 'named';
  abstract readonly shares: boolean;
  readonly name = 'mysql';
  readonly ping = 'DO 0';
  readonly guarantees: StoreGuarantees = {
    ownership: true,
    fencing: 'global',
    survivesFailover: false,
    // InnoDB may let those through first for whom most others wait, and GET_LOCK() promises no order.
    fifo: false,
    reach: 'network',
    expiry: 'connection',
    wakeUp: 'push',
  };

  #holds: Holds | undefined;

  constructor(
    private readonly place: MysqlPlace,
    private readonly settings: MysqlSettings,
  ) {}

  protected get tables(): MysqlTables {
    return this.place.tables;
  }

  protected get holds(): Holds {
    return (this.#holds ??= new Holds(this.tables[this.mode === 'row' ? 'hold' : 'named']));
  }

  get schema(): readonly string[] {
    return this.place.schema;
  }

  lockName(key: string): string {
    return keyHash(key).toString('hex');
  }

  async check(pool: SqlPool, timeout: number): Promise<void> {
    await this.place.find();
    await this.#refuseCluster(pool, timeout);
  }

  probe(ask: AskSession): Promise<void> {
    return this.place.probe(ask);
  }

  /** Begins with the fencing tokens, and with the table that they come from, should the server have lost it. */
  async prepare(ask: AskSession): Promise<unknown> {
    try {
      await this.holds.catchUp(ask);
    } catch (error) {
      if (!this.settings.createTable || !isMissingTable(error)) throw error;
      for (const text of this.schema) await ask(text);
      await this.holds.catchUp(ask);
    }
    return this.enter(ask);
  }

  protected abstract enter(ask: AskSession): Promise<ServerSession>;

  restore(ask: AskSession, id: unknown): Promise<void> {
    return leaveSession(ask, id as ServerSession);
  }

  abstract tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined>;
  abstract lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined>;
  abstract unlock(ask: AskSession, claim: SessionClaim): Promise<boolean>;
  abstract inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined>;
  abstract forceRelease(ask: AskSession, key: string): Promise<boolean>;
  abstract sweep(ask: AskSession): Promise<void>;

  isQueued(ask: AskSession, id: unknown): Promise<boolean> {
    return isBusy(ask, id as ServerSession);
  }

  terminate(ask: AskSession, id: unknown): Promise<void> {
    return endSession(ask, id as ServerSession);
  }

  endedByServer(error: unknown): boolean {
    return endedByServer(error);
  }

  toLockError(error: unknown): LockError {
    return unavailable(error, this.place.address);
  }

  /** s after which the server ends a session of which it hears nothing. */
  protected get silence(): number {
    return Math.ceil(Math.max(SHORTEST_SILENCE, 6 * this.settings.keepAlive) / 1_000);
  }

  async #refuseCluster(pool: SqlPool, timeout: number): Promise<void> {
    const connection = await pool.connect(timeout);
    try {
      const { rows } = await connection.query(`SHOW STATUS LIKE 'wsrep_cluster_size'`, [], timeout);
      if (Number(rows[0]?.['Value'] ?? 0) < 2) return;
    } finally {
      connection.release();
    }
    throw new LockOptionsError(
      `mysqlStore: mode '${this.mode}' locks on one node only, and ${this.place.address} is one of a Galera cluster. Use mode 'table'.`,
    );
  }
}
