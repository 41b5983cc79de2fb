import { LockLostError, LockOptionsError } from '../../../errors/index.js';
import type { EntryHold } from './entry.hold.js';

/** A lock, as bodies are handed it. */
export interface GuardedLock {
  readonly keys: readonly string[];
  readonly fencingToken: bigint;
  throwIfLost(): void;
}

/** One for each key of a lock. */
export type ForEachKey<T> = readonly [T, ...T[]];

/** A fencing token has the store's number above these bits; in them is how often the hold has changed hands in its process. */
const HAND_OFF_BITS = 10n;

/**
 * What guards a transaction of the service itself: something of each entry that `lock` stands on.
 *
 * @param holdOf the hold that the store has of a key now
 * @throws LockLostError, LockOptionsError
 */
export function guardOf<T>(
  lock: GuardedLock,
  holdOf: (key: string) => EntryHold | undefined,
  clauseOf: (hold: EntryHold) => T | undefined,
): ForEachKey<T> {
  lock.throwIfLost();
  const [first, ...rest] = lock.keys.map((key) => {
    const hold = holdOf(key);
    const clause = hold && clauseOf(hold);
    if (hold === undefined || clause === undefined) {
      throw new LockLostError(key, 'its store does not hold it any more, or it is the lock of another store');
    }
    // Several keys have no common token.
    if (lock.keys.length === 1 && hold.fence !== lock.fencingToken >> HAND_OFF_BITS) {
      throw new LockOptionsError(`guardTxn(): this lock on "${key}" is not one of this store.`);
    }
    return clause;
  });
  if (first === undefined) throw new LockOptionsError('guardTxn(): the lock has no key.');
  return [first, ...rest];
}
