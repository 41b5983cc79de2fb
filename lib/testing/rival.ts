import { ownerToken } from '../engine/owner-token.js';
import type { MemoryStore } from '../stores/memory/memory.store.js';

/** Somebody else who holds a key until a test says otherwise. Disposable: `using rival = locks.contend(key)`. */
export interface Rival extends Disposable {
  readonly key: string;
  /**
   * Resolves when the code under test has come across this rival: it was refused, or it began to wait. Callers behind
   * the first of their process wait there, and come across nobody.
   */
  met(): Promise<void>;
  /** Gives the key back: to whoever waits for it, at once. Calling it again does nothing. */
  release(): void;
}

export class HoldingRival implements Rival {
  readonly #owner = ownerToken();
  readonly #met: Promise<void>;
  #meet!: () => void;
  #released = false;

  constructor(
    readonly key: string,
    label: string,
    private readonly memory: MemoryStore,
    private readonly onReleased: (rival: HoldingRival) => void,
  ) {
    this.#met = new Promise((resolve) => (this.#meet = resolve));
    // The memory store grants a free key before it returns, so that there is nothing to wait for.
    void memory.acquire({
      key,
      owner: this.#owner,
      label,
      mode: { kind: 'exclusive' },
      ttl: Infinity,
      wait: false,
      signal: new AbortController().signal,
      onStatus: () => undefined,
    });
  }

  meet(): void {
    this.#meet();
  }

  met(): Promise<void> {
    return this.#met;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.onReleased(this);
    void this.memory.abandon(this.key, this.#owner);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
