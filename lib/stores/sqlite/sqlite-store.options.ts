import { resolve } from 'node:path';
import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import { lockTables, type LockTables } from '../sql/table-names.js';
import { driverNames, type SqliteDriver, type SqliteDriverName } from './sqlite.driver.js';

export interface SqliteStoreOptions {
  /**
   * The database file, created when it is missing; its folder must exist. A relative path starts at the working directory.
   *
   * Best a file of its own on a local disk, not the application's database: a long transaction there would keep everybody
   * from locking, and SQLite's file locks do not work over a network. Within one process, open the file through one driver only: two copies
   * of SQLite in a process cancel each other's file locks on POSIX systems (see "How To Corrupt An SQLite Database File").
   */
  readonly filename: string;
  /**
   * `'better-sqlite3'`, `'node:sqlite'` (Node 22.13 or later), or either one's class when you load it yourself.
   * Default: better-sqlite3 where it is installed, else `node:sqlite`.
   */
  readonly driver?: SqliteDriverName | SqliteDriver;
  /** The lock table; its companions are called `<table>_waiter` and `<table>_fence`. Default `'distributed_lock'`. */
  readonly table?: string;
  /** Whether missing tables are created. When `false`, create them by what `sqliteSchema()` gives. Default `true`. */
  readonly createTable?: boolean;
  /**
   * How often the first in a queue looks whether the key has become free. On Linux and macOS it is woken by the file's
   * change, so that this is the safety net; with `journalMode: 'keep'` or elsewhere it is what a hand-off waits for. Default 20 ms.
   */
  readonly pollInterval?: Duration;
  /**
   * How long one operation tries to get past another connection's transaction before it counts as unavailable.
   * Trying never blocks the event loop. Default 1 s.
   */
  readonly commandTimeout?: Duration;
  /**
   * `'wal'` switches the file to write-ahead logging, which is a property of the file and stays. `'keep'` leaves the
   * file's mode alone: in a rollback mode a lock costs several disk flushes instead of none. Default `'wal'`.
   */
  readonly journalMode?: 'wal' | 'keep';
}

export interface SqliteSettings {
  readonly filename: string;
  readonly driver: SqliteDriverName | SqliteDriver | undefined;
  readonly tables: LockTables;
  readonly createTable: boolean;
  /** ms */
  readonly pollInterval: number;
  /** ms */
  readonly commandTimeout: number;
  readonly journalMode: 'wal' | 'keep';
}

const PLACE = 'sqliteStore';
const KNOWN: Record<keyof SqliteStoreOptions, true> = {
  filename: true,
  driver: true,
  table: true,
  createTable: true,
  pollInterval: true,
  commandTimeout: true,
  journalMode: true,
};

/** @throws LockOptionsError naming the option that is wrong */
export function readSqliteOptions(options: SqliteStoreOptions): SqliteSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw new LockOptionsError(
      `${PLACE}: the options are ${show(options)}, but must be an object: { filename: '/var/lib/app/locks.db' }.`,
    );
  }
  refuseUnknown(options, PLACE, Object.keys(KNOWN));
  const { driver, table = 'distributed_lock', createTable = true, journalMode = 'wal' } = options;
  const { pollInterval = 20, commandTimeout = 1_000 } = options;
  check(typeof createTable === 'boolean', 'createTable', createTable, 'true or false');
  check(['wal', 'keep'].includes(journalMode), 'journalMode', journalMode, `'wal' or 'keep'`);
  check(
    driver === undefined || typeof driver === 'function' || driverNames.includes(driver),
    'driver',
    driver,
    `'better-sqlite3', 'node:sqlite', or the class of either`,
  );
  return {
    filename: readFilename(options.filename),
    driver,
    tables: readTable(table),
    createTable,
    pollInterval: parseDuration(pollInterval, { min: 1 }, 'pollInterval', PLACE),
    commandTimeout: parseDuration(commandTimeout, { min: 1 }, 'commandTimeout', PLACE),
    journalMode,
  };
}

function readFilename(filename: unknown): string {
  if (filename === '' || filename === ':memory:') {
    throw new LockOptionsError(
      `${PLACE}: filename is ${show(filename)}, a database that no other process can see. ` +
        'Name a file, or use memoryStore() for the locks of one process.',
    );
  }
  // SQLite's URIs can ask for private databases and for no locking at all, and the drivers do not agree about them.
  const plain = typeof filename === 'string' && !/^file:|\0/i.test(filename) && filename.trim() === filename;
  check(plain, 'filename', filename, `a file's path, without a "file:" scheme and without blanks around it`);
  return resolve(filename as string);
}

function readTable(table: unknown): LockTables {
  const tables = lockTables(table, PLACE);
  check(!/^sqlite_/i.test(tables.lock), 'table', table, 'a name that does not begin with sqlite_, which SQLite keeps');
  return tables;
}

function check(valid: boolean, name: string, value: unknown, rule: string): void {
  if (!valid) throw new LockOptionsError(`${PLACE}: ${name} is ${show(value)}, but must be ${rule}.`);
}
