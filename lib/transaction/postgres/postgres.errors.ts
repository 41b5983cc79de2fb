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

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';
const NOT_AVAILABLE = '55P03';
const CANCELED = '57014';
const NO_TRANSACTION = '25P01';
const ABORTED_TRANSACTION = '25P02';

/** Why no savepoint could be set. */
export function beginError(error: unknown, { key }: TransactionLock): LockError {
  if (isLockError(error)) return error;
  if (saysTransactionEnded(error)) return ended(error);
  switch (serverError(error).state) {
    case NO_TRANSACTION:
      return new LockOptionsError(
        `${PLACE}: tx is not in a transaction, so that the lock on "${key}" would end at once. Run BEGIN first, ` +
          'or hand over the transaction that your library opened.',
        error,
      );
    case ABORTED_TRANSACTION:
      return new LockTransactionError(
        `"${key}" was not locked: an earlier statement of the transaction has failed, and it takes nothing but a rollback.`,
        'aborted',
        'aborted',
        { key, cause: error },
      );
    default:
      return unavailable(error, key);
  }
}

/** What the call fails with. @param usable whether the transaction is back at its savepoint */
export async function failureOf(error: unknown, lock: TransactionLock, usable: boolean): Promise<LockError> {
  // Contention promises a transaction that goes on.
  if (isLockError(error) && (usable || error.code !== LockErrorCode.Contended)) return error;
  const { key } = lock;
  const { state } = serverError(error);
  if (!usable) return unavailable(error, key);
  switch (state) {
    case NOT_AVAILABLE:
      return lock.contended();
    case CANCELED:
      return (await wasStatementTimeout(lock)) ? lock.contended() : unavailable(error, key);
    case DEADLOCK:
      return new LockTransactionError(
        `"${key}" was not locked: the transactions waited for one another in a circle, and the server chose this one to give way. ` +
          'It goes on and keeps what it had locked before; roll it back and run it again, so that the others go on too.',
        'deadlock',
        'usable',
        { key, cause: error },
      );
    case SERIALIZATION_FAILURE:
      return new LockTransactionError(
        `"${key}" was not locked: its row is newer than the transaction's snapshot. Run the transaction again; ` +
          'under READ COMMITTED this does not happen.',
        'conflict',
        'usable',
        { key, cause: error },
      );
    default:
      return unavailable(error, key);
  }
}

/** A session's own limit on statements ends a wait as ours does. An administrator's cancel comes with the same code. */
async function wasStatementTimeout(lock: TransactionLock): Promise<boolean> {
  try {
    const { taken } = await lock.statements.one(
      "SELECT setting AS taken FROM pg_settings WHERE name = 'statement_timeout'",
    );
    const limit = Number(taken);
    return limit > 0 && lock.waited >= limit;
  } catch {
    return false;
  }
}

// No such table, no such schema, no permission, a read-only transaction.
const PERMANENT = new Set(['42P01', '3F000', '42501', '25006', '42703']);

function unavailable(cause: unknown, key: string): LockUnavailableError {
  const state = serverError(cause).state ?? '';
  const hint = state === '42P01' || state === '3F000' ? ' Create what transactionSchema() gives.' : '';
  return new LockUnavailableError(`"${key}" could not be locked: ${messageOf(cause)}.${hint}`, {
    key,
    cause,
    retryable: !PERMANENT.has(state),
  });
}
