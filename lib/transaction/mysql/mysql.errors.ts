import {
  isLockError,
  LockErrorCode,
  LockOptionsError,
  LockUnavailableError,
  type LockError,
} from '../../errors/index.js';
import { LockTransactionError } from '../lock-transaction.error.js';
import { messageOf, saysTransactionEnded, serverError } from '../server-error.js';
import { ended, PLACE } from '../sources/index.js';
import type { TransactionLock } from '../transaction-lock.js';

// https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html and https://mariadb.com/kb/en/mariadb-error-codes/
const CHANGED_SINCE_SNAPSHOT = 1020;
const NO_SUCH_TABLE = 1146;
const LOCK_WAIT_TIMEOUT = 1205;
const DEADLOCK = 1213;
const NOT_PREPARED = 1295;
const NO_SAVEPOINT = 1305;
const STATEMENT_TIMEOUT = 1969;

/** Why there is no savepoint. */
export function beginError(error: unknown, { key }: TransactionLock): LockError {
  if (isLockError(error)) return error;
  if (saysTransactionEnded(error)) return ended(error);
  switch (serverError(error).errno) {
    case NO_SAVEPOINT:
      return new LockOptionsError(
        `${PLACE}: tx is not in a transaction, so that the lock on "${key}" would end at once. Run START TRANSACTION first, ` +
          'or hand over the transaction that your library opened.',
        error,
      );
    case NOT_PREPARED:
      return new LockOptionsError(
        `${PLACE}: the query of tx prepares its statements, and MySQL does not prepare SAVEPOINT. Send them as text.`,
        error,
      );
    default:
      return unavailable(error, key);
  }
}

/**
 * What the call fails with.
 *
 * @param undone what went wrong on the way back to the savepoint, if anything
 */
export function failureOf(
  error: unknown,
  lock: TransactionLock,
  undone: { readonly failure: unknown } | undefined,
): LockError {
  // Contention promises a transaction that goes on.
  if (isLockError(error) && (undone === undefined || error.code !== LockErrorCode.Contended)) return error;
  const { key } = lock;
  const { errno } = serverError(error);
  const rolledBack = undone !== undefined && serverError(undone.failure).errno === NO_SAVEPOINT;
  if (undone !== undefined && !rolledBack) return unavailable(error, key);
  const state = rolledBack ? 'rolled-back' : 'usable';
  switch (errno) {
    case DEADLOCK:
      return new LockTransactionError(
        `"${key}" was not locked: the transactions waited for one another in a circle, and the server chose this one to give way. ${AFTERWARDS}.`,
        'deadlock',
        state,
        { key, cause: error },
      );
    case LOCK_WAIT_TIMEOUT:
    case STATEMENT_TIMEOUT:
      if (!rolledBack) return lock.contended();
      return new LockTransactionError(
        `"${key}" is locked by another owner, and the server rolls back the whole transaction for that (innodb_rollback_on_timeout). ${AFTERWARDS}.`,
        'timeout',
        state,
        { key, cause: error },
      );
    case CHANGED_SINCE_SNAPSHOT:
      return new LockTransactionError(
        `"${key}" was not locked: its row is newer than the transaction's snapshot (innodb_snapshot_isolation). ` +
          (rolledBack ? AFTERWARDS : 'Roll back and run the transaction again') +
          ', with the lock before the first read.',
        'conflict',
        state,
        { key, cause: error },
      );
    default:
      return unavailable(error, key);
  }
}

const AFTERWARDS =
  'The transaction has been rolled back as a whole, and what the session does now is committed at once: run all of it again';

// No such table, no permission (on the table, a column), no such column, a read-only server or transaction.
const PERMANENT = new Set([NO_SUCH_TABLE, 1142, 1143, 1054, 1290, 1792]);

function unavailable(cause: unknown, key: string): LockUnavailableError {
  const { errno } = serverError(cause);
  const hint = errno === NO_SUCH_TABLE ? ' Create what transactionSchema() gives.' : '';
  return new LockUnavailableError(`"${key}" could not be locked: ${messageOf(cause)}.${hint}`, {
    key,
    cause,
    retryable: !PERMANENT.has(errno ?? 0),
  });
}
