/** Requests that were given up, by key, until their client library has settled them. */
export class Stragglers {
  readonly #byKey = new Map<string, Set<Promise<void>>>();

  add(key: string, call: Promise<unknown>): void {
    const calls = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, calls);
    const forget = (): void => {
      calls.delete(settled);
      if (calls.size === 0 && this.#byKey.get(key) === calls) this.#byKey.delete(key);
    };
    const settled: Promise<void> = call.then(forget, forget);
    calls.add(settled);
  }

  /** `undefined`: there are none. */
  of(key: string): Promise<unknown> | undefined {
    const calls = this.#byKey.get(key);
    return calls && Promise.all(calls);
  }
}
