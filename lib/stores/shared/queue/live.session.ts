import type { EntryHold } from './entry.hold.js';

/**
 * A session of a coordination service: what was entered under it stands for as long as it is kept alive, and is removed by the
 * server when it is not.
 */
export class LiveSession {
  readonly holds = new Set<EntryHold>();
  readonly #endListeners = new Set<() => void>();
  #validUntil = -Infinity;
  #ended: { readonly cause: unknown } | undefined;

  /**
   * Until when the server keeps the session for certain, on the monotonic clock: from when the last request that it has
   * answered was *sent*. Has no end of its own: the engine ends each hold whose time runs out.
   */
  get validUntil(): number {
    return this.#ended ? -Infinity : this.#validUntil;
  }

  get alive(): boolean {
    return performance.now() < this.validUntil;
  }

  /** Why it has ended, if it has. */
  get ended(): { readonly cause: unknown } | undefined {
    return this.#ended;
  }

  extend(validUntil: number): void {
    this.#validUntil = Math.max(this.#validUntil, validUntil);
  }

  /** It is gone, or counts as gone: its holders are told, and those who wait under it start again. */
  end(cause: unknown): void {
    if (this.#ended) return;
    this.#ended = { cause };
    for (const hold of this.holds) hold.lose(cause);
    this.holds.clear();
    for (const listener of this.#endListeners) listener();
    this.#endListeners.clear();
  }

  /** Calls back at its end, or at once when it has ended already. @returns how to stop listening */
  onEnd(listener: () => void): () => void {
    if (this.#ended) {
      listener();
      return () => undefined;
    }
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }
}
