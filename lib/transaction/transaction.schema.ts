import { LockOptionsError } from '../errors/index.js';
import { show } from '../options/duration.js';
import { lockTables } from '../stores/sql/table-names.js';
import { dialectOf } from './sources/shape.js';
import type { TransactionDialect } from './sql-transaction.js';

export const DEFAULT_TABLE = 'distributed_lock_tx';

/** What the table of row locks and the source of its fencing tokens are called; not quoted yet. */
export interface TransactionTables {
  readonly lock: string;
  readonly fence: string;
}

/** @throws LockOptionsError when `table` is not a plain identifier */
export function transactionTables(table: unknown, place: string): TransactionTables {
  const { lock, fence } = lockTables(table, place);
  return { lock, fence };
}

/**
 * The statements that create what `mode: 'row'` and `fencing: true` need, for a migration; `mode: 'advisory'` without
 * fencing needs nothing. They may be run any number of times. `lockInTransaction()` itself creates nothing: on MySQL
 * that would commit the caller's transaction.
 *
 * @param table the `table` option of `lockInTransaction()`
 * @returns one statement an element, without semicolons
 * @throws LockOptionsError when the dialect is unknown or `table` is not a plain identifier
 */
export function transactionSchema(dialect: TransactionDialect, table = DEFAULT_TABLE): readonly string[] {
  const place = 'transactionSchema()';
  const { lock, fence } = transactionTables(table, place);
  switch (dialectOf(dialect)) {
    case 'postgres':
      return [
        `CREATE TABLE IF NOT EXISTS "${lock}" (
  key_hash bytea PRIMARY KEY,
  lock_key text NOT NULL
)`,
        // A cache would hand each session a block of numbers of its own, so that a later lock could get a smaller one.
        `CREATE SEQUENCE IF NOT EXISTS "${fence}" AS bigint CACHE 1 NO CYCLE`,
      ];
    case 'mysql':
      return [
        `CREATE TABLE IF NOT EXISTS \`${lock}\` (
  key_hash BINARY(32) NOT NULL PRIMARY KEY,
  lock_key TEXT CHARACTER SET utf8mb4 NOT NULL,
  used_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE=InnoDB`,
        `CREATE TABLE IF NOT EXISTS \`${fence}\` (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY
) ENGINE=InnoDB`,
      ];
    case undefined:
      throw new LockOptionsError(
        `${place}: dialect is ${show(dialect)}, but must be 'postgres', 'mysql' or 'mariadb'.`,
      );
  }
}
