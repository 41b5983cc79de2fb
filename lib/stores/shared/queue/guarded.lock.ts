import { LockLostError, LockOptionsError } from '../../../errors/index.js';
import { show } from '../../../options/duration.js';
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
 * A loss is told to the lock as soon as the store knows of it, so that one that counts as held stands on holds of its store. Where
 * the store has none, the lock is of another store, or of none.
 *
 * @param holdsOf the holds that the store has of a key
 * @throws LockLostError, LockOptionsError
 */
export function guardOf<T>(
  lock: GuardedLock,
  holdsOf: (key: string) => readonly EntryHold[],
  clauseOf: (hold: EntryHold) => T | undefined,
): ForEachKey<T> {
  checkShape(lock);
  lock.throwIfLost();
  const [first, ...rest] = lock.keys.map((key) => {
    const holds = holdsOf(key);
    // Several keys have no common token.
    const own =
      lock.keys.length > 1 ? holds : holds.filter(({ fence }) => fence === lock.fencingToken >> HAND_OFF_BITS);
    if (own.length === 0) {
      throw new LockOptionsError(`guardTxn(): the lock on "${key}" is of another store, or locking is switched off.`);
    }
    const hold = latestOf(own);
    const clause = hold && clauseOf(hold);
    if (clause === undefined) throw new LockLostError(key, 'its store no longer has it');
    return clause;
  });
  if (first === undefined) throw new LockOptionsError('guardTxn(): the lock has no key.');
  return [first, ...rest];
}

/** The hold that counts now: the last one, where one before it has not been given back yet. */
function latestOf(holds: readonly EntryHold[]): EntryHold | undefined {
  let latest: EntryHold | undefined;
  for (const hold of holds) {
    if (performance.now() < hold.validUntil && (latest === undefined || hold.fence > latest.fence)) latest = hold;
  }
  return latest;
}

function checkShape(lock: unknown): void {
  const { keys, throwIfLost } = Object(lock) as Partial<Record<keyof GuardedLock, unknown>>;
  if (Array.isArray(keys) && typeof throwIfLost === 'function') return;
  throw new LockOptionsError(`guardTxn(): the lock is ${show(lock)}, but must be one as a body is handed it.`);
}
