import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXCLUSIVE, type AcquireRequest, type LockStore, type StoreHold } from '../../contract/index.js';
import { ownerToken } from '../../engine/owner-token.js';
import type { StoreConformance } from './conformance.options.js';
import { EngineProcess, type ProcessOptions } from './engine-process.js';
import { Queued } from './queued.js';

type RequestOptions = Partial<Omit<AcquireRequest, 'key'>>;

/** A tuple for the small numbers that tests take apart. */
type Several<T, N extends number> = N extends 2 ? [T, T] : N extends 3 ? [T, T, T] : N extends 4 ? [T, T, T, T] : T[];

let keys = 0;

/** What one test works with. All times given to it are stretched by the store's time scale. */
export class Bench {
  readonly #cleanUps: (() => unknown)[] = [];
  readonly timeScale: number;

  constructor(private readonly options: StoreConformance) {
    this.timeScale = options.timeScale ?? 1;
  }

  /** What "at once" means: far longer than it should take, far shorter than a lease of the default length. */
  get soon(): number {
    return this.ms(2_000);
  }

  /** In ms: a short lease, or a session's time. */
  get lease(): number {
    return this.options.sessionTime ?? this.ms(1_000);
  }

  ms(duration: number): number {
    return duration * this.timeScale;
  }

  sleep(duration: number): Promise<void> {
    return sleep(this.ms(duration));
  }

  /** A key that no other test uses. */
  key(name = 'key'): string {
    return `${name}:${process.pid}:${Date.now().toString(36)}:${(keys += 1)}`;
  }

  async unopened(): Promise<LockStore> {
    const store = await this.options.createStore();
    this.onEnd(() => store.close());
    return store;
  }

  /** A process that uses the store directly. */
  async store(): Promise<LockStore> {
    const store = await this.unopened();
    await store.open();
    return store;
  }

  async stores<N extends number>(count: N): Promise<Several<LockStore, N>> {
    return (await Promise.all(Array.from({ length: count }, () => this.store()))) as Several<LockStore, N>;
  }

  /** A process that uses the store through the engine. Without `open` it connects at the first use. */
  async process(options: ProcessOptions & { readonly open?: boolean } = {}): Promise<EngineProcess> {
    const started = new EngineProcess(await this.options.createStore(), this.timeScale, options);
    this.onEnd(() => started.engine.close(0));
    if (options.open ?? true) await started.engine.open();
    return started;
  }

  async processes<N extends number>(count: N, options?: ProcessOptions): Promise<Several<EngineProcess, N>> {
    const started = Array.from({ length: count }, () => this.process(options));
    return (await Promise.all(started)) as Several<EngineProcess, N>;
  }

  request(key: string, options: RequestOptions = {}): AcquireRequest {
    return {
      key,
      owner: ownerToken(),
      label: 'conformance',
      mode: EXCLUSIVE,
      ttl: this.ms(10_000),
      wait: false,
      signal: new AbortController().signal,
      onStatus: () => undefined,
      ...options,
    };
  }

  /** One try. */
  async attempt(store: LockStore, key: string, options?: RequestOptions): Promise<StoreHold | undefined> {
    const result = await store.acquire(this.request(key, options));
    return result.acquired ? result.hold : undefined;
  }

  /** One try that must succeed. */
  async take(store: LockStore, key: string, options?: RequestOptions): Promise<StoreHold> {
    const hold = await this.attempt(store, key, options);
    assert.ok(hold, `"${key.slice(0, 100)}" should have been free`);
    return hold;
  }

  /** Whether another owner is refused. */
  async isTaken(store: LockStore, key: string): Promise<boolean> {
    const hold = await this.attempt(store, key, { ttl: this.ms(200) });
    await hold?.release();
    return hold === undefined;
  }

  /** Starts to wait, and resolves when the store has said that it queues. */
  async queue(store: LockStore, key: string, options?: RequestOptions): Promise<Queued> {
    let onContended: () => void = () => undefined;
    const contended = new Promise<void>((resolve) => (onContended = resolve));
    const onStatus: AcquireRequest['onStatus'] = (status) => {
      if (status.kind === 'contended' && status.queued !== false) onContended();
    };
    const queued = new Queued(store, this.request(key, { ...options, wait: true, onStatus }));
    this.onEnd(() => queued.abort());
    await this.soonDone(contended, 'the store to report that it waits');
    return queued;
  }

  /** One after the other. */
  async queueAll(stores: readonly LockStore[], key: string): Promise<Queued[]> {
    const queue: Queued[] = [];
    for (const store of stores) queue.push(await this.queue(store, key));
    return queue;
  }

  /** What the promise gives, or a failure that says what was waited for. */
  async within<T>(duration: number, promise: Promise<T>, what: string): Promise<T> {
    const controller = new AbortController();
    const timeout = sleep(this.ms(duration), undefined, { signal: controller.signal }).then(
      () => assert.fail(`waited ${this.ms(duration)} ms in vain for ${what}`),
      () => new Promise<never>(() => undefined),
    );
    try {
      return await Promise.race([promise, timeout]);
    } finally {
      controller.abort();
    }
  }

  soonDone<T>(promise: Promise<T>, what: string): Promise<T> {
    return this.within(2_000, promise, what);
  }

  /** Asks until the answer is yes. */
  async eventually(condition: () => boolean | Promise<boolean>, what: string, duration = 2_000): Promise<void> {
    const deadline = performance.now() + this.ms(duration);
    while (!(await condition())) {
      assert.ok(performance.now() < deadline, `waited ${this.ms(duration)} ms in vain for ${what}`);
      await sleep(2);
    }
  }

  onEnd(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp);
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp();
  }
}
