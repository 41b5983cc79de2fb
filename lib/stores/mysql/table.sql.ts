import { statement, type Statement } from '../sql/statement.js';
import type { TableStatements } from '../sql/table/table.dialect.js';
import type { MysqlTables } from './mysql.tables.js';
import { milliseconds, NOW } from './mysql.time.js';

/** Text that came as bytes, cut to what a column holds. */
export const text = (parameter: string, length: number): string =>
  `LEFT(CONVERT(@${parameter} USING utf8mb4), ${length})`;

/** So many ms from now. */
const later = (milliseconds: string): string => `${NOW} + INTERVAL ${milliseconds} * 1000 MICROSECOND`;

const sql = (source: string): Statement => statement('question', source);

/** As many question marks as there are values. */
export const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');

/** The statements of {@link TableStatements} in what MySQL 8 and MariaDB 10.11 have in common. */
export function tableStatements(tables: MysqlTables): TableStatements {
  const { lock, waiter, fence } = tables;
  const dequeue = sql(`DELETE FROM ${waiter} WHERE owner = @owner`);
  const remove = sql(`DELETE FROM ${lock} WHERE id = @id AND owner = @owner`);
  const ownTicket = `(SELECT own.ticket FROM ${waiter} AS own WHERE own.owner = @owner)`;
  // Whoever has no ticket stands behind all that there are.
  const nobodyAhead = (inTheWay: string): string => `NOT EXISTS (
    SELECT 1 FROM ${waiter} AS queued WHERE queued.id = @id AND queued.expires_at > ${NOW} AND ${inTheWay}
  )`;
  const aheadOfOwn = `queued.ticket < COALESCE(${ownTicket}, 18446744073709551615)`;
  return {
    claimUnlessQueues: claim(tables, `turn.queued_until < ${NOW}`),
    claim: claim(tables, nobodyAhead('queued.owner <> @owner')),
    claimInTurn: claim(tables, nobodyAhead(aheadOfOwn)),

    look: sql(`
      SELECT held.owner, held.label, ${milliseconds(NOW, 'held.expires_at')} AS remaining, (
        SELECT COUNT(*) FROM ${waiter} AS queued
        WHERE queued.id = @id AND queued.expires_at > ${NOW} AND ${aheadOfOwn}
      ) AS ahead, (
        SELECT ${milliseconds(NOW, 'mine.expires_at')} FROM ${waiter} AS mine
        WHERE mine.owner = @owner AND mine.expires_at > ${NOW}
      ) AS ticket
      FROM ${fence} AS turn LEFT JOIN ${lock} AS held ON held.id = @id AND held.expires_at > ${NOW}
      WHERE turn.id = 1`),

    enqueue: [
      // First, so that no claim misses a ticket that stands. Twice its life, so that a ticket is renewed without writing here as well.
      sql(`UPDATE ${fence} SET queued_until = ${later('2 * @life')} WHERE id = 1 AND queued_until < ${later('@life')}`),
      sql(`
        INSERT INTO ${waiter} (id, owner, expires_at) VALUES (@id, @owner, ${later('@life')})
        ON DUPLICATE KEY UPDATE expires_at = ${later('@life')}`),
    ],

    dequeue,

    // A row that has expired counts as gone although it still stands.
    release: sql(`DELETE FROM ${lock} WHERE id = @id AND owner = @owner AND expires_at > ${NOW}`),
    forceRelease: sql(`DELETE FROM ${lock} WHERE id = @id AND expires_at > ${NOW}`),
    abandon: [dequeue, remove],

    inspect: sql(`
      SELECT held.owner, held.label, held.fence, ${milliseconds('held.acquired_at', NOW)} AS age,
        ${milliseconds(NOW, 'held.expires_at')} AS remaining, (
          SELECT COUNT(*) FROM ${waiter} AS queued WHERE queued.id = @id AND queued.expires_at > ${NOW}
        ) AS waiters
      FROM ${lock} AS held WHERE held.id = @id AND held.expires_at > ${NOW}`),

    // Rows stand only while a key is held or wanted, so that reading all of them is nothing.
    sweep: [lock, waiter].map((table) => sql(`DELETE FROM ${table} WHERE expires_at <= ${NOW} LIMIT @limit`)),
  };
}

/**
 * Inserts the row, or takes over one that has expired, where it is the owner's turn. Gives the token as the statement's insert id,
 * or 0; to an owner who has the row already, the token that it was given.
 *
 * The token is drawn before the row is won, and a later holder's might be given out before it arrives: so the one row of `fence`, which
 * is read first, stays locked until the statement is committed, and claims draw and win one after the other whatever the server's
 * `innodb_autoinc_lock_mode`. Who finds the key taken has drawn in vain. The same row says until when there may be
 * tickets at all: a look at their table costs a tenth of a lock, also when it is empty.
 *
 * Assignments are carried out from the left to the right and see what those before them have done, except in MariaDB's mode
 * SIMULTANEOUS_ASSIGNMENT: the condition comes out the same either way, since what it goes by is assigned last, and
 * an owner that has just been assigned counts as the owner's own.
 */
function claim({ lock, fence }: MysqlTables, inTurn: string): Statement {
  const expired = `expires_at <= ${NOW}`;
  const takeOver = ['acquired_at', 'label', 'owner', 'expires_at'].map(
    (column) => `${column} = IF(${expired} OR owner = VALUES(owner), VALUES(${column}), ${column})`,
  );
  return sql(`
    INSERT INTO ${lock} (id, lock_key, label, owner, acquired_at, expires_at)
    SELECT @id, ${text('key', 1_000)}, ${text('label', 255)}, @owner, ${NOW}, ${later('@ttl')}
    FROM ${fence} AS turn
    WHERE turn.id = 1 AND ${inTurn}
    FOR UPDATE
    ON DUPLICATE KEY UPDATE
      fence = GREATEST(fence, LAST_INSERT_ID(IF(${expired}, VALUES(fence), IF(owner = VALUES(owner), fence, 0)))),
      ${takeOver.join(', ')}`);
}
