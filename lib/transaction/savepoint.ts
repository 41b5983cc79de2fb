import type { Statements } from './statements.js';

// On MySQL a savepoint replaces the one of the same name, which must not be one of the caller's: hence the digits. The same
// name each time, since calls on one connection take turns.
const NAME = 'nestjs_distributed_lock_7c41e09ab25d';

export const SET_SAVEPOINT = `SAVEPOINT ${NAME}`;
export const UNDO_TO_SAVEPOINT = `ROLLBACK TO SAVEPOINT ${NAME}`;
export const RELEASE_SAVEPOINT = `RELEASE SAVEPOINT ${NAME}`;

/**
 * Takes the transaction back to where the call began.
 *
 * @returns `undefined` when that went well, else the error that says why not
 */
export async function undo(statements: Statements): Promise<{ readonly failure: unknown } | undefined> {
  if (statements.silent) return { failure: undefined };
  try {
    await statements.run(UNDO_TO_SAVEPOINT);
    await statements.run(RELEASE_SAVEPOINT);
    return undefined;
  } catch (failure) {
    return { failure };
  }
}
