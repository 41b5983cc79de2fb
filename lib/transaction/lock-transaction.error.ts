import { LockUnavailableError } from '../errors/index.js';

/**
 * Why the lock was not taken.
 *
 * - `deadlock`: transactions waited for one another in a circle, and the server chose this one to give way (40P01, 1213).
 * - `conflict`: the isolation level forbids to go on, since somebody changed the row after this transaction's snapshot
 *   (40001, 1020).
 * - `timeout`: the wait was over, and the server is set up to roll the whole transaction back for that
 *   (`innodb_rollback_on_timeout`).
 * - `aborted`: an earlier statement of the transaction had failed already (25P02).
 */
export type TransactionFailure = 'deadlock' | 'conflict' | 'timeout' | 'aborted';

/**
 * What became of the caller's transaction.
 *
 * - `usable`: as it was before the call.
 * - `rolled-back`: the server has rolled it back as a whole. The session is outside of any transaction: on MySQL, every
 *   further statement would be committed at once.
 * - `aborted`: it takes no statement but a rollback.
 */
export type TransactionState = 'usable' | 'rolled-back' | 'aborted';

/**
 * The server refused the lock for the transaction's sake. The key is not held. Roll back, and run the whole transaction
 * again: the same statement alone would fail again, or run outside of a transaction.
 *
 * Its `code` is that of {@link LockUnavailableError}: to whoever called, it is a failure that passes.
 */
export class LockTransactionError extends LockUnavailableError {
  constructor(
    message: string,
    /** Why the lock was not taken. */
    readonly reason: TransactionFailure,
    /** What became of the caller's transaction. */
    readonly transaction: TransactionState,
    options: { readonly key: string; readonly cause: unknown },
  ) {
    super(message, options);
  }
}
