import { existsSync, realpathSync, statSync } from 'node:fs';
import { LockOptionsError, LockUnavailableError } from '../../errors/index.js';
import { closedError } from '../shared/store-state.js';
import { loadDriver } from './load-driver.js';
import { retryWhileBusy } from './retry-while-busy.js';
import type { SqliteDatabase, SqliteDriver } from './sqlite.driver.js';
import { isBusy, resultCode, toLockError, whyNotOpened } from './sqlite.errors.js';
import { schemaOf } from './sqlite.schema.js';
import { SqliteSession } from './sqlite.session.js';
import type { SqliteSettings } from './sqlite-store.options.js';

/**
 * The store's own connection: opened at the first use, and again after it failed or after the file was replaced.
 * Whoever went on with a file that has been moved or removed would share no lock with those who open the new one.
 */
export class SqliteConnection {
  #session: SqliteSession | undefined;
  #file: string | undefined;
  #opening: Promise<SqliteSession> | undefined;
  #closed = false;

  constructor(private readonly settings: SqliteSettings) {}

  async open(): Promise<void> {
    this.#closed = false;
    await this.#ready();
  }

  /** Runs one operation, past whatever other connections are doing, within the command timeout. */
  async run<T>(work: (session: SqliteSession) => T): Promise<T> {
    const { filename, commandTimeout } = this.settings;
    try {
      await this.#ready();
      return await retryWhileBusy(() => work(this.#usable()), commandTimeout, filename);
    } catch (error) {
      if (resultCode(error) !== undefined) this.#drop();
      throw toLockError(error, filename);
    }
  }

  /** Runs one operation once, if that is possible at this moment. */
  tryNow<T>(work: (session: SqliteSession) => T): T | undefined {
    try {
      return this.#session && work(this.#session);
    } catch (error) {
      if (!isBusy(error)) this.#drop();
      return undefined;
    }
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  /** Where writers log their changes, or `undefined` when the file is in another journal mode. */
  get writeAheadLog(): string | undefined {
    if (this.#session === undefined) return undefined;
    try {
      const log = `${realpathSync(this.settings.filename)}-wal`;
      return existsSync(log) ? log : undefined;
    } catch {
      return undefined;
    }
  }

  async #ready(): Promise<SqliteSession> {
    if (this.#closed) throw closedError('sqlite');
    if (this.#session !== undefined && this.#file !== identityOf(this.settings.filename)) this.#drop();
    if (this.#session !== undefined) return this.#session;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  // An operation that waited for its turn may find the connection gone.
  #usable(): SqliteSession {
    if (this.#session === undefined) throw new LockUnavailableError('The SQLite lock store was closed meanwhile');
    return this.#session;
  }

  async #connect(): Promise<SqliteSession> {
    const { filename, commandTimeout } = this.settings;
    const Driver = await loadDriver(this.settings.driver);
    const problem = whyNotOpened(filename);
    if (problem !== undefined) throw new LockUnavailableError(problem, { retryable: false });
    let database: SqliteDatabase | undefined;
    try {
      const opened = (database = openDatabase(Driver, filename));
      // Each step may meet another process that is just doing the same.
      const step = <T>(work: () => T) => retryWhileBusy(work, commandTimeout, filename);
      await step(() => this.#configure(opened));
      const session = await step(() => this.#prepare(opened));
      if (this.#closed) throw closedError('sqlite');
      this.#file = identityOf(filename);
      this.#session = session;
      return session;
    } catch (error) {
      closeQuietly(database);
      throw toLockError(error, filename);
    }
  }

  #configure(database: SqliteDatabase): void {
    // SQLite's own waiting blocks the thread, and with it the event loop.
    database.exec('PRAGMA busy_timeout = 0');
    const { clock } = database.prepare(`SELECT unixepoch('subsec') AS clock`).get({}) as { clock: number | null };
    if (clock === null) throw new LockOptionsError(`sqliteStore: the driver's SQLite is older than 3.42.`);
    const wanted = this.settings.journalMode === 'wal' ? ' = WAL' : '';
    const { journal_mode: mode } = database.prepare(`PRAGMA journal_mode${wanted}`).get({}) as { journal_mode: string };
    if (wanted && mode !== 'wal') {
      throw new LockOptionsError(
        `sqliteStore: ${this.settings.filename} cannot be switched to write-ahead logging (it stays in mode ` +
          `'${mode}'). Use a local disk, or set journalMode: 'keep'.`,
      );
    }
    // No flush to the disk at each commit. A crash of processes loses nothing; a power cut may lose the last commits, but
    // ends every process that held or waited, and the fence goes by the clock. Outside of WAL this could corrupt the file.
    if (mode === 'wal') database.exec('PRAGMA synchronous = NORMAL');
  }

  #prepare(database: SqliteDatabase): SqliteSession {
    const { filename, tables, createTable } = this.settings;
    try {
      if (!createTable) return new SqliteSession(database, tables);
      return inTransaction(database, () => {
        database.exec(schemaOf(tables));
        // In the same transaction: nothing is left behind where another table has the name.
        return new SqliteSession(database, tables);
      });
    } catch (error) {
      if (resultCode(error) !== 'SQLITE_ERROR') throw error;
      throw new LockOptionsError(
        `sqliteStore: the table "${tables.lock}" in ${filename} is missing or is not a lock table ` +
          `(${(error as Error).message}). Create it by sqliteSchema(), set createTable: true, or name another table.`,
        error,
      );
    }
  }

  #drop(): void {
    closeQuietly(this.#session?.database);
    this.#session = undefined;
  }
}

function openDatabase(Driver: SqliteDriver, filename: string): SqliteDatabase {
  return new Driver(filename, { timeout: 0 });
}

function inTransaction<T>(database: SqliteDatabase, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      database.exec('ROLLBACK');
    } catch {
      // Rolled back already.
    }
    throw error;
  }
}

// A look at the directory entry only: opening and closing the file here would drop SQLite's locks on it.
function identityOf(filename: string): string | undefined {
  const stat = statSync(filename, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

function closeQuietly(database: SqliteDatabase | undefined): void {
  try {
    database?.close();
  } catch {
    // Nothing that anybody could do about it.
  }
}
