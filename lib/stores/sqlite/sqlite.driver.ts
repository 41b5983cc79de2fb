/** A prepared statement, as far as the store uses one. */
export interface SqliteStatement {
  run(parameters: object): { changes: number | bigint };
  all(parameters: object): unknown[];
  get(parameters: object): unknown;
}

/** An open database, as far as the store uses one. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

/**
 * What opens a database: the `Database` class of better-sqlite3 or the `DatabaseSync` class of `node:sqlite`, which agree
 * in everything that the store uses.
 */
export type SqliteDriver = new (filename: string, options?: { timeout?: number }) => SqliteDatabase;

/** The drivers that the store can load by itself. */
export const driverNames = ['better-sqlite3', 'node:sqlite'] as const;
export type SqliteDriverName = (typeof driverNames)[number];
