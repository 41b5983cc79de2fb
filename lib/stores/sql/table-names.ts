import { LockOptionsError } from '../../errors/index.js';
import { show } from '../../options/duration.js';

/** What the lock table and its companions are called. */
export interface LockTables {
  /** Who holds which key. */
  readonly lock: string;
  /** Who queues for which key. */
  readonly waiter: string;
  /** The index over the queue. */
  readonly waiterIndex: string;
  /** Where fencing tokens come from, or what keeps them in order. */
  readonly fence: string;
  /** The rows that row locks are taken on. */
  readonly row: string;
}

// PostgreSQL cuts names off after 63 bytes: what is left here is room for the longest suffix.
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,47}$/;

/**
 * The names that belong to `table`. They need no quoting on any server, but are quoted all the same: any of them may be
 * a keyword somewhere.
 *
 * @param place where the option stands, for the message
 * @throws LockOptionsError when `table` is not a plain identifier
 */
export function lockTables(table: unknown, place: string): LockTables {
  if (typeof table !== 'string' || !IDENTIFIER.test(table)) {
    throw new LockOptionsError(
      `${place}: table is ${show(table)}, but must be a plain identifier: ` +
        'a letter or underscore, then letters, digits or underscores, 48 characters at most.',
    );
  }
  return {
    lock: table,
    waiter: `${table}_waiter`,
    waiterIndex: `${table}_waiter_key`,
    fence: `${table}_fence`,
    row: `${table}_row`,
  };
}
