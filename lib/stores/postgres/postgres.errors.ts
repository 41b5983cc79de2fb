import { LockUnavailableError, isLockError, type LockError } from '../../errors/index.js';

/** The SQLSTATE of an error of the server. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** The statement was undone because of others', and may be sent again: a deadlock, a serialization failure. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40P01' || state === '40001';
}

/** Undefined table, undefined object (a sequence), or a schema that is not there. */
export function isMissingTable(error: unknown): boolean {
  return sqlState(error) === '42P01';
}

/** A prepared statement is not where it was prepared, or where it was not. */
export function isNotPrepared(error: unknown): boolean {
  const state = sqlState(error);
  return state === '26000' || state === '42P05';
}

/** An earlier statement of the transaction has failed. */
export function isInFailedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02';
}

/** The server has ended the session: by an administrator, at a shutdown, after a crash, or for having idled. */
export function endedByServer(error: unknown): boolean {
  return ['57P01', '57P02', '57P03', '57P05', '25P03'].includes(sqlState(error) ?? '');
}

/** Somebody has it: NOWAIT, or a lock_timeout. */
export function isLockNotAvailable(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

export const READ_ONLY = 'this server is read-only, connect to the primary';

const REASONS: Partial<Record<string, string>> = {
  '3D000': 'the database does not exist',
  '3F000': 'the schema does not exist',
  '42501': 'the role lacks a permission',
  '42P01': 'a table of the store does not exist (createTable: true makes it, or run what postgresSchema() gives)',
  '42703': 'a table of the store has other columns than it should',
};

/** The error that says what is wrong, and whether waiting can help. */
export function toLockError(error: unknown, address: string): LockError {
  if (isLockError(error)) return error;
  const state = sqlState(error);
  const message = error instanceof Error && error.message ? error.message : String(error);
  // Class 28: invalid authorization.
  const reason = state?.startsWith('28') ? 'the login was refused' : REASONS[state ?? ''];
  const advice = adviceOn(state, message);
  const text = `PostgreSQL at ${address} failed: ${reason ? `${reason}: ` : ''}${message}${advice ? ` (${advice})` : ''}`;
  return new LockUnavailableError(text, { cause: error, retryable: reason === undefined });
}

function adviceOn(state: string | undefined, message: string): string | undefined {
  // Until a failover is over.
  if (state === '25006') return READ_ONLY;
  if (state !== '42501' || !/\bschema\b/.test(message)) return undefined;
  return (
    'grant USAGE on the schema, and either grant CREATE on the schema, or run postgresSchema() as a migration ' +
    'and set createTable: false'
  );
}
