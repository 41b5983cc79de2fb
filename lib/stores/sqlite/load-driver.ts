import { LockOptionsError } from '../../errors/index.js';
import type { SqliteDriver, SqliteDriverName } from './sqlite.driver.js';

const PLACE = 'sqliteStore';

/**
 * The class that opens databases: the one asked for, or better-sqlite3 where it is installed and else `node:sqlite`.
 *
 * @throws LockOptionsError when there is none
 */
export async function loadDriver(wanted: SqliteDriverName | SqliteDriver | undefined): Promise<SqliteDriver> {
  if (typeof wanted === 'function') return wanted;
  if (wanted === 'node:sqlite') {
    const driver = builtIn();
    if (driver) return driver;
    throw new LockOptionsError(
      `${PLACE}: driver is 'node:sqlite', which needs Node 22.13 or later; this is ${process.version}.`,
    );
  }
  try {
    return await betterSqlite3();
  } catch (cause) {
    const driver = wanted === undefined && isMissing(cause) ? builtIn() : undefined;
    if (driver) return driver;
    throw new LockOptionsError(
      isMissing(cause)
        ? `${PLACE}: no SQLite driver found: install better-sqlite3, or run Node 22.13 or later.`
        : `${PLACE}: better-sqlite3 cannot be loaded: ${(cause as Error).message}`,
      cause,
    );
  }
}

async function betterSqlite3(): Promise<SqliteDriver> {
  const module = (await import('better-sqlite3')) as unknown as { default: SqliteDriver };
  return module.default;
}

// Unlike import(), this raises no error where there is no such module, and bundlers leave it alone.
function builtIn(): SqliteDriver | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
  return (getBuiltinModule?.('node:sqlite') as { DatabaseSync: SqliteDriver } | undefined)?.DatabaseSync;
}

function isMissing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
}
