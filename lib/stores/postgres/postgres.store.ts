import type { LockStore } from '../../contract/index.js';
import { SessionStore } from '../sql/session/session.store.js';
import { TableStore } from '../sql/table/table.store.js';
import { AdvisoryDialect } from './advisory.dialect.js';
import { PgListener } from './postgres.listener.js';
import { postgresSettings, type PostgresSettings, type PostgresStoreOptions } from './postgres.options.js';
import { PgSessions } from './postgres.pool.js';
import { RowDialect } from './row.dialect.js';
import { PostgresTableDialect } from './table.dialect.js';

/**
 * Locks in PostgreSQL 12 or later, in one of three modes.
 *
 * - `table` (default): a row with an end, renewed while the lock is held. Needs no session of its own, works through any
 *   pooler, and outlives a lost connection. Waiting processes are served in order and woken by NOTIFY.
 * - `row`: a row locked by `SELECT … FOR UPDATE` on a session of its own. Free the moment its holder's session ends.
 * - `advisory`: `pg_advisory_lock`. As quick as a lock of PostgreSQL can be; sessions are shared by locks that need not wait.
 *
 * `row` and `advisory` are refused behind transaction pooling. All three draw their fencing tokens from one sequence, after the
 * lock was won, so that no rollback and no crash gives one out twice.
 *
 * @example
 * ```ts
 * LockModule.forRoot({ store: postgresStore({ pool }) })
 * ```
 * @throws LockOptionsError when an option is missing, unknown or out of its range
 */
export function postgresStore(options: PostgresStoreOptions): LockStore {
  return storeOf(postgresSettings(options));
}

export function storeOf(settings: PostgresSettings): LockStore {
  const sessions = new PgSessions(settings.source, settings.address);
  if (settings.mode === 'table') {
    const push = settings.listens ? new PgListener(sessions, settings) : undefined;
    return new TableStore(new PostgresTableDialect(settings), sessions, { ...settings, fastPollInterval: 20 }, push);
  }
  const Dialect = settings.mode === 'row' ? RowDialect : AdvisoryDialect;
  return new SessionStore(new Dialect(settings), sessions, settings);
}
