import assert from 'node:assert/strict';
import type { AcquireRequest, AcquireResult, LockStore, StoreHold } from '../../contract/index.js';

/** An acquisition that waits in the store. */
export class Queued {
  readonly #controller = new AbortController();
  readonly #result: Promise<AcquireResult>;
  #outcome: 'waiting' | 'granted' | 'ended' = 'waiting';

  constructor(
    private readonly store: LockStore,
    private readonly request: Omit<AcquireRequest, 'signal'>,
  ) {
    this.#result = store.acquire({ ...request, signal: this.#controller.signal });
    this.#result.then(
      ({ acquired }) => (this.#outcome = acquired ? 'granted' : 'ended'),
      () => (this.#outcome = 'ended'),
    );
  }

  get owner(): string {
    return this.request.owner;
  }

  get isWaiting(): boolean {
    return this.#outcome === 'waiting';
  }

  get isGranted(): boolean {
    return this.#outcome === 'granted';
  }

  async hold(): Promise<StoreHold> {
    const result = await this.#result;
    assert.ok(result.acquired, `a waiting acquisition of "${this.request.key}" was refused`);
    return result.hold;
  }

  /** The hold, or `undefined` when the wait ended in any other way. */
  settled(): Promise<StoreHold | undefined> {
    return this.#result.then(
      (result) => (result.acquired ? result.hold : undefined),
      () => undefined,
    );
  }

  abort(): void {
    this.#controller.abort(new Error('nobody waits any more'));
  }

  /** What the engine does when nobody waits any more. */
  async leave(): Promise<void> {
    this.abort();
    await this.settled();
    await this.store.abandon(this.request.key, this.request.owner);
  }
}
