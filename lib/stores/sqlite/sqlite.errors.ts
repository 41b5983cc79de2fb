import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LockUnavailableError, isLockError, type LockError } from '../../errors/index.js';

// By number, as node:sqlite tells them. https://www.sqlite.org/rescode.html
const NAMES: Partial<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  11: 'SQLITE_CORRUPT',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
};

/** SQLite's primary result code in an error of either driver. */
export function resultCode(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  // The low byte of an extended code is the primary one; as text, its first two words.
  if (typeof errcode === 'number') return NAMES[errcode & 0xff] ?? 'SQLITE_OTHER';
  return typeof code === 'string' ? /^SQLITE_[A-Z]+/.exec(code)?.[0] : undefined;
}

/** Whether another connection is in the way, so that trying again helps. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED' || code === 'SQLITE_PROTOCOL';
}

/** The error that says what is wrong with the file, and whether waiting can help. */
export function toLockError(error: unknown, filename: string): LockError {
  if (isLockError(error)) return error;
  const reason = permanentReason(resultCode(error), filename);
  if (reason !== undefined) return new LockUnavailableError(reason, { cause: error, retryable: false });
  const message = error instanceof Error ? error.message : String(error);
  return new LockUnavailableError(`The lock database ${filename} failed: ${message}`, { cause: error });
}

function permanentReason(code: string | undefined, filename: string): string | undefined {
  switch (code) {
    case 'SQLITE_NOTADB':
      return `${filename} is not an SQLite database (or is an encrypted one).`;
    case 'SQLITE_CORRUPT':
      return `The lock database ${filename} is corrupt. Remove it while no process uses it: it holds only locks.`;
    case 'SQLITE_READONLY':
    case 'SQLITE_PERM':
    case 'SQLITE_AUTH':
      return `The lock database ${filename} cannot be written: the file and its folder must both be writable.`;
    case 'SQLITE_CANTOPEN':
      return whyNotOpened(filename);
    default:
      return undefined;
  }
}

/** What is visibly wrong with a path; nothing when the cause may pass, such as too many open files. */
export function whyNotOpened(filename: string): string | undefined {
  const folder = dirname(filename);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    return `The folder of the lock database does not exist: ${folder}`;
  }
  if (statSync(filename, { throwIfNoEntry: false })?.isDirectory()) return `${filename} is a folder, not a database.`;
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    accessSync(filename, constants.R_OK | constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      return `The lock database ${filename} cannot be opened: the file and its folder must both be writable.`;
    }
  }
  return undefined;
}
