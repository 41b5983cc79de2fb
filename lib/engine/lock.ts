import type { StoreGuarantees } from '../contract/index.js';
import type { Duration } from '../options/duration.js';
import type { LockJson } from './shown-lock.js';

/** A lock that is held. */
export interface Lock extends AsyncDisposable {
  /** The key; of several keys, all of them, sorted and joined by `, `. */
  readonly key: string;
  readonly keys: readonly string[];
  /** The name the store has in the module. */
  readonly store: string;
  readonly guarantees: StoreGuarantees;
  /**
   * A number larger than that of every earlier hold of the key, for the guarded resource to refuse a stale holder by. It
   * fits a signed 64-bit column. Of several keys it is the largest.
   *
   * @throws LockOptionsError when the store has no fencing tokens, so that nobody compares with nothing
   */
  readonly fencingToken: bigint;
  /** Aborts, with a `LockLostError` as its reason, when the lock is lost. It needs a turn of the event loop to do so. */
  readonly signal: AbortSignal;
  /** Whether the lock is still certain, by the clock of this very moment. */
  readonly held: boolean;
  /** ms for which the lock is certain unless it is renewed; 0 once it is not. `Infinity` where a connection stands behind it. */
  remaining(): number;
  /** @throws LockLostError when the lock is no longer held */
  throwIfLost(): void;
  /**
   * Makes the lease last at least `duration` from now, once; default: its ttl. Renewal goes on as before. Where a session or a connection
   * stands behind the lock, that decides how long it is certain; only what `renew: false` has limited is extended.
   *
   * @returns {@link remaining} afterwards
   * @throws LockLostError when the lock is no longer held
   * @throws LockUnavailableError when the store gave no answer; the lock is still held for {@link remaining}
   */
  extend(duration?: Duration): Promise<number>;
  /**
   * Gives the lock back. Never rejects. Calling it again answers the same.
   *
   * @returns whether the lock was held until now. `false`: it had been lost, or the store did not answer; it is then
   * released in the background as soon as the store can be reached.
   */
  release(): Promise<boolean>;
  /** For logs: `JSON.stringify(lock)` and `console.log(lock)` show the keys, the store, whether it is held, and the token as text. */
  toJSON(): LockJson;
}
