import { LockFencedError, LockOptionsError } from '../errors/index.js';
import { show } from '../options/duration.js';
import { tokenOf, type Fenced } from './fence.js';

/** Whose SQL it is: that of PostgreSQL, of MySQL and MariaDB, or of SQLite. */
export type FenceDialect = 'postgres' | 'mysql' | 'sqlite';

/** The options of {@link sqlFence}. */
export interface SqlFenceOptions {
  /** The column that remembers the largest token: a signed or unsigned 64-bit integer, NULL or 0 before the first write. @default 'fence' */
  readonly column?: string | undefined;
}

/** What makes an UPDATE refuse a stale holder. */
export interface SqlFence {
  /** For `SET`: remembers the token. @param placeholder `$2` or the like; `?` unless given */
  set(placeholder?: string): string;
  /** For `WHERE`: lets nobody through who has a smaller token than the row. One hold may write more than once. */
  where(placeholder?: string): string;
  /** What to bind to each of the two placeholders: the token as text, since not every driver keeps 64 bits of a number. */
  readonly value: string;
  /**
   * To be called with the number of rows that the statement matched (`rowCount` of pg, `affectedRows` of mysql2, `changes` of SQLite).
   *
   * @throws LockFencedError when it is 0: the row has a larger token, or is not there
   */
  check(rows: number | bigint | null | undefined): void;
}

const PLACE = 'sqlFence()';
// Bound as text. What is compared with text, MySQL may turn into doubles, which have 53 bits.
const CASTS: Readonly<Record<FenceDialect, (placeholder: string) => string>> = {
  postgres: (placeholder) => `${placeholder}::bigint`,
  mysql: (placeholder) => `CAST(${placeholder} AS UNSIGNED)`,
  sqlite: (placeholder) => `CAST(${placeholder} AS INTEGER)`,
};
const COLUMN = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$/;
const PLACEHOLDER = /^(\?\d*|[$:@][A-Za-z0-9_]+)$/;

/**
 * The resource's half of fencing, for a row of a table: the row remembers the largest token it was written with and refuses smaller ones,
 * so that a holder that was paused, lost its lock and wakes up cannot write over its successor.
 *
 * @example
 * ```ts
 * const fence = sqlFence('postgres', lock);
 * const { rowCount } = await db.query(
 *   `UPDATE account SET balance = $1, ${fence.set('$2')} WHERE id = $3 AND ${fence.where('$2')}`,
 *   [balance, fence.value, id],
 * );
 * fence.check(rowCount);
 * ```
 * @throws LockOptionsError when an argument is wrong, or the lock's store has no fencing tokens
 * @see https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
 */
export function sqlFence(dialect: FenceDialect, fenced: Fenced, { column = 'fence' }: SqlFenceOptions = {}): SqlFence {
  const token = tokenOf(fenced, PLACE);
  if (!Object.hasOwn(CASTS, dialect)) {
    throw new LockOptionsError(
      `${PLACE}: the dialect is ${show(dialect)}, but must be one of ${Object.keys(CASTS).join(', ')}.`,
    );
  }
  if (typeof column !== 'string' || !COLUMN.test(column)) {
    throw new LockOptionsError(
      `${PLACE}: column is ${show(column)}, but must be the name of a column, such as 'fence'.`,
    );
  }
  const bound = (placeholder = '?'): string => {
    if (PLACEHOLDER.test(placeholder)) return CASTS[dialect](placeholder);
    throw new LockOptionsError(
      `${PLACE}: the placeholder is ${show(placeholder)}, but must be like $2, ?, ?2 or :fence.`,
    );
  };
  return {
    // The column of a SET has no table before it.
    set: (placeholder) => `${column.slice(column.indexOf('.') + 1)} = ${bound(placeholder)}`,
    where: (placeholder) => `(${column} IS NULL OR ${column} <= ${bound(placeholder)})`,
    value: String(token),
    check: (rows) => {
      if (typeof rows !== 'number' && typeof rows !== 'bigint') {
        throw new LockOptionsError(
          `${PLACE}: check() got ${show(rows)}, but must get the number of rows that were written.`,
        );
      }
      if (Number(rows) > 0) return;
      throw new LockFencedError(
        `Nothing was written with the fencing token ${token}: the row has seen a larger one, or there is no such row`,
        token,
      );
    },
  };
}
