import { lockTables, type LockTables } from '../sql/table-names.js';

/**
 * The statements that create the lock table and its companions, for those who create tables by migrations and set
 * `createTable: false`. They may be run any number of times.
 *
 * @param table the store's `table` option
 * @returns one text of several statements, as `exec()` of better-sqlite3 and node:sqlite takes it
 * @throws LockOptionsError when `table` is not a plain identifier
 */
export function sqliteSchema(table = 'distributed_lock'): string {
  return schemaOf(lockTables(table, 'sqliteSchema()'));
}

// BINARY is the default collation; it is written down because keys that differ in case or in trailing spaces are
// different keys, whatever somebody changes here later.
//
// A ticket needs no AUTOINCREMENT: the next is always larger than every one that still stands, which is all that a queue
// asks for, and costs one page less to write.
export function schemaOf({ lock, waiter, waiterIndex, fence }: LockTables): string {
  return `
    CREATE TABLE IF NOT EXISTS "${lock}" (
      key TEXT NOT NULL COLLATE BINARY PRIMARY KEY,
      owner TEXT NOT NULL,
      label TEXT NOT NULL,
      fence INTEGER NOT NULL,
      acquired_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS "${waiter}" (
      ticket INTEGER PRIMARY KEY,
      key TEXT NOT NULL COLLATE BINARY,
      owner TEXT NOT NULL UNIQUE,
      expires_at INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS "${waiterIndex}" ON "${waiter}" (key, ticket);
    CREATE TABLE IF NOT EXISTS "${fence}" (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      last INTEGER NOT NULL
    );
  `;
}
