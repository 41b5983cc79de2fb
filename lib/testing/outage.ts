/** What a store that a test has made unreachable answers. */
export interface OutageOptions {
  /**
   * Whether trying again may help. `false`: a call that waits for a lock fails at once, whatever its `wait`. `true`: it
   * goes on trying until its `wait` is over or the store is back, as in a real outage. Default `false`.
   */
  readonly retry?: boolean;
}

/** The state of the line between the code under test and its store. */
export class Outage {
  #line = new AbortController();

  begin({ retry = false }: OutageOptions): void {
    this.end();
    this.#line.abort(Object.assign(new Error('the test has made the store unavailable'), { retryable: retry }));
  }

  end(): void {
    if (this.#line.signal.aborted) this.#line = new AbortController();
  }

  /** Aborts when the store becomes unreachable. */
  get signal(): AbortSignal {
    return this.#line.signal;
  }

  /** Does `work` if the store can be reached, and rejects if not. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return work();
  }
}
