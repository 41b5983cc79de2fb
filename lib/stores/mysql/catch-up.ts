import type { MysqlTables } from './mysql.tables.js';
import { CLOCK, NOW } from './mysql.time.js';

/**
 * Lets the counter of fencing tokens catch up with the clock, in µs, by a row that stands for no key and goes at once. Each new
 * connection does: a server that crashed, or a replica that took over, may lack the counter's last steps, and has new connections
 * only. A table that was made anew goes on above the old one.
 */
export function catchUp({ lock }: MysqlTables): string[] {
  const id = 'CAST(CONNECTION_ID() AS BINARY(32))';
  return [
    `INSERT IGNORE INTO ${lock} (id, fence, lock_key, owner, label, acquired_at, expires_at)
VALUES (${id}, ${CLOCK}, '', '', '', ${NOW}, ${NOW})`,
    `DELETE FROM ${lock} WHERE id = ${id}`,
  ];
}
