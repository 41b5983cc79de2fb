/** A cancellable timer. */
export interface Timer {
  /** Its callback does not run any more. Does nothing after it has. */
  cancel(): void;
}

/**
 * Where the engine and the in-process store take their time from.
 *
 * `now` is monotonic: it never steps, whatever happens to the wall clock. All values are milliseconds.
 */
export interface Clock {
  /** ms since some fixed moment. */
  now(): number;
  /**
   * Runs `callback` once, `delay` ms from now. The timer does not keep the process alive unless `keepAlive` is set.
   */
  after(delay: number, callback: () => void, keepAlive?: boolean): Timer;
}

// setTimeout() fires at once for anything above this, so that a longer delay is taken in steps.
const LONGEST_TIMEOUT = 2 ** 31 - 1;

class SystemTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;

  constructor(
    delay: number,
    private readonly callback: () => void,
    private readonly keepAlive: boolean,
  ) {
    this.#arm(delay);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  #arm(delay: number): void {
    if (delay > LONGEST_TIMEOUT) {
      this.#handle = setTimeout(() => this.#arm(delay - LONGEST_TIMEOUT), LONGEST_TIMEOUT);
    } else {
      this.#handle = setTimeout(this.callback, delay);
    }
    if (!this.keepAlive) this.#handle.unref();
  }
}

/** The process's own monotonic clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delay, callback, keepAlive = false) => new SystemTimer(delay, callback, keepAlive),
};
