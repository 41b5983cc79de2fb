/** What a trace may say of a lock: its key is not among it, being private and of endless variety. */
export interface TracedLock {
  /** The name the store has in the module. */
  readonly store: string;
  /** What the key was made from: `order:<orderId>`. */
  readonly template: string | undefined;
}

/**
 * Follows single calls from their wait to their release. Events cannot: they are told wherever the news comes in, while
 * {@link wait} and {@link HoldTrace.run} are called in the caller's own async context.
 */
export interface LockTracer {
  /** A call queues for a key. Exactly one of the trace's methods is called, once, when its wait is over. */
  wait(lock: TracedLock): WaitTrace;
}

export interface WaitTrace {
  /** @param handedOff whether the lease was passed on within the process */
  granted(handedOff: boolean): HoldTrace;
  /** @param reason the error that the call fails with; it may name the key */
  refused(reason: unknown): void;
}

export interface HoldTrace {
  /** Runs the body that the lock was taken for, if it was taken for one. Must call it, and answer what it answers. */
  run<T>(body: () => T): T;
  /** @param reason in plain words, without the key */
  lost(reason: string): void;
  /** Called once, as the last: after a loss at once, after a release when the store has answered it. */
  ended(): void;
}
