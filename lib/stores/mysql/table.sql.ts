import { statement, type Statement } from '../sql/statement.js';
import type { LockTables } from '../sql/table-names.js';
import type { TableStatements } from '../sql/table/table.dialect.js';

// One moment for the whole of a statement, and without a time zone's doubled hour. A statement that had to wait for a row
// goes by the time at which it began: it takes nothing over too early, and no lease of its ends later for it.
export const NOW = 'UTC_TIMESTAMP(6)';

const MICROSECONDS = (from: string, to: string): string => `TIMESTAMPDIFF(MICROSECOND, ${from}, ${to})`;
/** Whole milliseconds between two moments. A division would come as text. */
export const milliseconds = (from: string, to: string): string => `${MICROSECONDS(from, to)} DIV 1000`;
/** µs since 1970. */
export const CLOCK = MICROSECONDS(`TIMESTAMP'1970-01-01 00:00:00'`, NOW);
/** Text that came as bytes, cut to what a column holds. */
export const text = (parameter: string, length: number): string =>
  `LEFT(CONVERT(@${parameter} USING utf8mb4), ${length})`;

const sql = (source: string): Statement => statement('question', source);

/** As many question marks as there are values. */
export const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');

/** What `LAST_INSERT_ID()` gives for a claim: the number of changed rows depends on flags of the connection. */
export const WON = 1n;
const LOST = 2n;

/** The statements of {@link TableStatements} in what MySQL 8 and MariaDB 10.11 have in common. */
export function tableStatements({ lock, waiter, fence }: LockTables): TableStatements {
  const dequeue = sql(`DELETE FROM \`${waiter}\` WHERE owner = @owner`);
  const remove = sql(`DELETE FROM \`${lock}\` WHERE id = @id AND owner = @owner`);
  const ownTicket = `(SELECT own.ticket FROM \`${waiter}\` AS own WHERE own.owner = @owner)`;
  // Whoever has no ticket stands behind all that there are.
  const aheadOfOwn = `queued.ticket < COALESCE(${ownTicket}, 18446744073709551615)`;
  return {
    claim: claim({ lock, waiter }, 'queued.owner <> @owner'),
    claimInTurn: claim({ lock, waiter }, aheadOfOwn),

    // A hybrid clock: larger than the last one, also after the table was lost or the server's last commits were.
    fence: sql(`
      INSERT INTO \`${fence}\` (id, last) VALUES (1, LAST_INSERT_ID(${CLOCK}))
      ON DUPLICATE KEY UPDATE last = LAST_INSERT_ID(GREATEST(last + 1, ${CLOCK}))`),

    look: sql(`
      SELECT held.owner, held.label, ${milliseconds(NOW, 'held.expires_at')} AS remaining, (
        SELECT COUNT(*) FROM \`${waiter}\` AS queued
        WHERE queued.id = @id AND queued.expires_at > ${NOW} AND ${aheadOfOwn}
      ) AS ahead, (
        SELECT ${milliseconds(NOW, 'mine.expires_at')} FROM \`${waiter}\` AS mine
        WHERE mine.owner = @owner AND mine.expires_at > ${NOW}
      ) AS ticket
      FROM (SELECT 1 AS one) AS single
      LEFT JOIN \`${lock}\` AS held ON held.id = @id AND held.expires_at > ${NOW}`),

    enqueue: sql(`
      INSERT INTO \`${waiter}\` (id, owner, expires_at) VALUES (@id, @owner, ${NOW} + INTERVAL @life * 1000 MICROSECOND)
      ON DUPLICATE KEY UPDATE expires_at = ${NOW} + INTERVAL @life * 1000 MICROSECOND`),

    dequeue,

    // A row that has expired counts as gone although it still stands.
    release: sql(`DELETE FROM \`${lock}\` WHERE id = @id AND owner = @owner AND expires_at > ${NOW}`),
    forceRelease: sql(`DELETE FROM \`${lock}\` WHERE id = @id AND expires_at > ${NOW}`),
    abandon: [dequeue, remove],

    inspect: sql(`
      SELECT held.owner, held.label, ${milliseconds('held.acquired_at', NOW)} AS age,
        ${milliseconds(NOW, 'held.expires_at')} AS remaining, (
          SELECT COUNT(*) FROM \`${waiter}\` AS queued WHERE queued.id = @id AND queued.expires_at > ${NOW}
        ) AS waiters
      FROM \`${lock}\` AS held WHERE held.id = @id AND held.expires_at > ${NOW}`),

    // Rows stand only while a key is held or wanted, so that reading all of them is nothing.
    sweep: [lock, waiter].map((table) => sql(`DELETE FROM \`${table}\` WHERE expires_at <= ${NOW} LIMIT @limit`)),
  };
}

/**
 * Inserts the row, or takes over one that has expired or is the owner's own, unless a ticket is in the way.
 *
 * Assignments are carried out from the left to the right and see what those before them have done, except in MariaDB's mode
 * SIMULTANEOUS_ASSIGNMENT: the condition comes out the same either way, since what it goes by is assigned last, and
 * an owner that has just been assigned counts as the owner's own.
 */
function claim({ lock, waiter }: Pick<LockTables, 'lock' | 'waiter'>, inTheWay: string): Statement {
  const free = `(expires_at <= ${NOW} OR owner = @owner)`;
  // Written out twice, since the two servers have no name in common for what was to be inserted.
  const columns = {
    lock_key: text('key', 1_000),
    label: text('label', 255),
    owner: '@owner',
    expires_at: `${NOW} + INTERVAL @ttl * 1000 MICROSECOND`,
  };
  const takeOver = Object.entries(columns).map(([column, value]) => `${column} = IF(${free}, ${value}, ${column})`);
  return sql(`
    INSERT INTO \`${lock}\` (id, acquired_at, ${Object.keys(columns).join(', ')})
    SELECT @id, ${NOW} + INTERVAL LAST_INSERT_ID(${WON}) - ${WON} MICROSECOND, ${Object.values(columns).join(', ')}
    FROM DUAL
    WHERE NOT EXISTS (
      SELECT 1 FROM \`${waiter}\` AS queued
      WHERE queued.id = @id AND queued.expires_at > ${NOW} AND ${inTheWay}
    )
    ON DUPLICATE KEY UPDATE
      acquired_at = IF(LAST_INSERT_ID(IF(${free}, ${WON}, ${LOST})) = ${WON}, ${NOW}, acquired_at),
      ${takeOver.join(', ')}`);
}
