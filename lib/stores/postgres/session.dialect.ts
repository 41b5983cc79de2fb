import type { StoreInspection } from '../../contract/index.js';
import type { LockError } from '../../errors/index.js';
import type { AskSession, SessionClaim, SessionDialect } from '../sql/session/session.dialect.js';
import type { SqlPool } from '../sql/sql.connection.js';
import type { LockTables } from '../sql/table-names.js';
import { refuseTransactionPooling } from './pooling.js';
import { endedByServer, toLockError } from './postgres.errors.js';
import { GUARANTEES } from './postgres.guarantees.js';
import type { PostgresSettings } from './postgres.options.js';
import { PgPlace } from './postgres.place.js';
import { probe } from './postgres.probe.js';
import { schemaOf } from './postgres.schema.js';
import { setLabel } from './session-label.js';
import { restoreSettings, setLimits, terminateSession, waitsForLock, type SessionId } from './session-settings.js';

/** What row locks and advisory locks of PostgreSQL have in common. */
export abstract class PostgresSessionDialect implements SessionDialect {
  readonly name = 'postgres';
  readonly ping = 'SELECT 1';
  readonly endedByServer = endedByServer;
  readonly guarantees: SessionDialect['guarantees'];
  abstract readonly shares: boolean;
  readonly #place: PgPlace;

  constructor(protected readonly settings: PostgresSettings) {
    this.guarantees = GUARANTEES[settings.mode];
    this.#place = new PgPlace(settings);
  }

  get schema(): readonly string[] {
    return [schemaOf(this.settings.tables, this.#place.schema, this.settings.mode)];
  }

  protected get names(): LockTables {
    return this.#place.names;
  }

  abstract lockName(key: string): string;
  abstract tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined>;
  abstract lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined>;
  abstract unlock(ask: AskSession, claim: SessionClaim): Promise<boolean>;
  abstract inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined>;
  /** The session that holds the key. */
  protected abstract holder(ask: AskSession, key: string): Promise<number | undefined>;

  async check(pool: SqlPool): Promise<void> {
    await refuseTransactionPooling(pool, this.settings);
    await this.#place.find(pool);
  }

  async probe(ask: AskSession): Promise<void> {
    await probe(ask, this.names, this.settings);
    this.#place.settle();
  }

  prepare(ask: AskSession): Promise<SessionId> {
    return setLimits(ask, this.settings.silence);
  }

  restore(ask: AskSession, id: SessionId): Promise<void> {
    return restoreSettings(ask, id);
  }

  introduce(ask: AskSession, label: string): Promise<void> {
    return setLabel(ask, label);
  }

  terminate(ask: AskSession, id: SessionId): Promise<void> {
    return terminateSession(ask, id, this.settings.commandTimeout);
  }

  isQueued(ask: AskSession, id: SessionId): Promise<boolean> {
    return waitsForLock(ask, id);
  }

  async forceRelease(ask: AskSession, key: string): Promise<boolean> {
    const pid = await this.holder(ask, key);
    if (pid === undefined) return false;
    const { rows } = await ask(
      'SELECT extract(epoch FROM backend_start)::text AS start FROM pg_stat_activity WHERE pid = $1',
      [pid],
    );
    const start = rows[0]?.['start'];
    if (typeof start !== 'string') return false;
    await this.terminate(ask, { pid, start, before: {} });
    return true;
  }

  toLockError(error: unknown): LockError {
    return toLockError(error, this.settings.address);
  }
}
