import { systemClock, type Clock, type LockStore, type StoreInspection } from '../contract/index.js';
import {
  LockContendedError,
  LockOptionsError,
  LockReentrancyError,
  LockShutdownError,
  LockUnavailableError,
} from '../errors/index.js';
import { awaited } from './awaited.js';
import { Backend } from './backend.js';
import { Chain } from './chain.js';
import { Cleaner } from './cleaner.js';
import type { EngineContext, HandOffLimits } from './engine.context.js';
import { guardedTracer } from './guarded-tracer.js';
import { HoldSet } from './hold-set.js';
import type { Hold } from './hold.js';
import { Lane } from './lane.js';
import { LockEventHub, type LockEventListener, type LockEventName } from './lock.events.js';
import type { Lock } from './lock.js';
import type { LockRequest } from './lock.request.js';
import type { LockTelemetrySource, StoreName } from './lock.telemetry.js';
import type { LockTracer } from './lock.tracer.js';
import { leaveAll, oneKey, rethrowLoss, traced, type RunPlan } from './run-plan.js';
import { Watchdog } from './watchdog.js';

export interface EngineOptions {
  /** At least one store, by name. */
  readonly stores: ReadonlyMap<string, LockStore>;
  /** What stores show as the holder. */
  readonly label: string;
  readonly handOff: HandOffLimits;
  readonly clock?: Clock | undefined;
}

/** Queues, leases and losses: all that is the same for every store. Knows no framework. */
export class LockEngine implements EngineContext, LockTelemetrySource {
  readonly clock: Clock;
  readonly events = new LockEventHub();
  readonly watchdog: Watchdog;
  readonly cleaner: Cleaner;
  readonly handOff: HandOffLimits;
  readonly label: string;
  readonly holds = new Set<Hold>();
  readonly contending = new Set<Promise<void>>();
  readonly releases = new Set<Promise<unknown>>();
  readonly chain = new Chain();

  tracer: LockTracer | undefined;

  readonly #backends: Map<string, Backend>;
  readonly #lanes = new Map<Backend, Map<string, Lane>>();
  #draining = false;
  #onDrained: (() => void) | undefined;

  constructor({ stores, label, handOff, clock = systemClock }: EngineOptions) {
    this.clock = clock;
    this.label = label;
    this.handOff = handOff;
    this.watchdog = new Watchdog(clock);
    this.cleaner = new Cleaner(clock);
    const warn = (store: string) => (warning: string) => this.events.emit('storeWarning', { store, warning });
    this.#backends = new Map([...stores].map(([name, store]) => [name, new Backend(name, store, warn(name))]));
    for (const backend of this.#backends.values()) this.#lanes.set(backend, new Map());
  }

  /** @throws LockOptionsError when no store has that name */
  backend(name: string, place: string): Backend {
    const backend = this.#backends.get(name);
    if (backend !== undefined) return backend;
    const known = [...this.#backends.keys()].map((known) => `"${known}"`).join(', ');
    throw new LockOptionsError(`${place}: there is no store "${name}"; the module has ${known}.`);
  }

  get stores(): readonly StoreName[] {
    return [...this.#backends.values()].map(({ name, store }) => ({ name, backend: store.name }));
  }

  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): () => void {
    return this.events.on(event, listener);
  }

  trace(tracer: LockTracer): void {
    this.tracer = guardedTracer(tracer, (error) => this.events.onError?.(error, 'tracer'));
  }

  /** How many keys this process holds, waits for or is about to forget. */
  get laneCount(): number {
    return [...this.#lanes.values()].reduce((sum, lanes) => sum + lanes.size, 0);
  }

  /** Opens all stores, or closes those that it has opened and throws. */
  async open(): Promise<void> {
    const opened = await Promise.allSettled([...this.#backends.values()].map((backend) => backend.open()));
    const failure = opened.find((result) => result.status === 'rejected');
    if (failure === undefined) return;
    await this.close(0);
    throw failure.reason;
  }

  /** Takes a key, waiting as the request says. */
  acquire(backend: Backend, request: LockRequest): Promise<Hold> {
    const own = this.chain.holdOf(backend, request.key);
    if (own !== undefined) return Promise.reject(new LockReentrancyError(request.key));
    // What runs under a lock may finish its work with the further locks that it needs.
    const nested = this.chain.holds;
    if (this.#draining && !nested) return Promise.reject(new LockShutdownError(request.key));
    return this.#lane(backend, request.key).acquire(request, nested);
  }

  /** @throws LockUnavailableError when the store did not answer */
  inspect(backend: Backend, key: string): Promise<StoreInspection | undefined> {
    return this.#ask(backend, key, () => backend.store.inspect(key));
  }

  /** @throws LockUnavailableError when the store did not answer */
  forceRelease(backend: Backend, key: string): Promise<boolean> {
    return this.#ask(backend, key, async () => {
      const released = await backend.store.forceRelease(key);
      this.#lanes.get(backend)?.get(key)?.onForceRelease();
      return released;
    });
  }

  /** How many callers of this process wait for the key. */
  localWaiters(backend: Backend, key: string): number {
    return this.#lanes.get(backend)?.get(key)?.waiters ?? 0;
  }

  /**
   * Runs a body under its keys. What the body returns or throws is what comes out, whatever happens to the lock.
   *
   * @throws LockContendedError, LockUnavailableError, LockShutdownError when the keys could not be taken
   * @throws LockReentrancyError when the call chain holds a key already
   * @throws LockLostError with `onLost: 'throw'`, when the body succeeded and its lock had been lost
   */
  async run<T>(plan: RunPlan<T>, body: (lock: Lock) => T | Promise<T>): Promise<T> {
    let holds: [Hold, ...Hold[]];
    try {
      holds = await this.acquireAll(plan);
    } catch (error) {
      if (plan.onContended !== undefined && error instanceof LockContendedError) return plan.onContended(error);
      throw error;
    }
    const lock = holds.length === 1 ? holds[0] : new HoldSet(holds);
    let result: T;
    try {
      result = await this.chain.run(
        lock,
        holds,
        traced(holds, () => body(lock)),
      );
    } catch (error) {
      await leaveAll(holds);
      throw error;
    }
    await leaveAll(holds);
    if (plan.onLost === 'throw') rethrowLoss(holds, result);
    return result;
  }

  /** Takes all keys of a plan or none, in sorted order and under one deadline. */
  async acquireAll<T>(plan: RunPlan<T>): Promise<[Hold, ...Hold[]]> {
    const { backend, keys, request, reentrant } = plan;
    const [only] = keys;
    if (only !== undefined && keys.length === 1) {
      return [await this.#acquireOrEnter(backend, oneKey(plan, only, request.wait, true), reentrant)];
    }
    // Sorted by code unit, so that every process takes them in the same order and none waits in a circle.
    const sorted = [...new Set(keys)].sort();
    const deadline = this.clock.now() + request.wait;
    const holds: Hold[] = [];
    try {
      for (const key of sorted) {
        const wait = Math.max(0, deadline - this.clock.now());
        const single = oneKey(plan, key, wait, sorted.length === 1);
        holds.push(await this.#acquireOrEnter(backend, single, reentrant));
      }
    } catch (error) {
      // Not awaited: `wait` bounds the whole call, also when the store has stopped answering.
      void leaveAll(holds);
      throw error;
    }
    return holds as [Hold, ...Hold[]];
  }

  /**
   * Takes no new locks, lets the running bodies finish for up to `timeout` ms, then ends what is left and closes the
   * stores.
   */
  close(timeout: number): Promise<void> {
    return awaited(this.#close(timeout));
  }

  async #close(timeout: number): Promise<void> {
    await this.drain(timeout);
    for (const hold of this.holds) hold.cutShort('the application shut down while it was held');
    for (const lane of this.#allLanes()) lane.refuseAll();
    // What was sent may still win: it is given back before the store is closed.
    await Promise.allSettled(this.contending);
    await Promise.allSettled(this.releases);
    await this.cleaner.close();
    this.watchdog.close();
    await Promise.allSettled([...this.#backends.values()].map(({ store }) => store.close()));
  }

  /** The first half of {@link close}. */
  async drain(timeout: number): Promise<void> {
    this.#draining = true;
    for (const lane of this.#allLanes()) lane.refuseAll({ nested: false });
    if (this.holds.size === 0 || timeout === 0) return;
    await new Promise<void>((resolve) => {
      // Real time: a test's clock stands still while its application is closed.
      const timer = systemClock.after(timeout, resolve, true);
      this.#onDrained = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#onDrained = undefined;
  }

  forget(hold: Hold): void {
    this.holds.delete(hold);
    if (this.holds.size === 0) this.#onDrained?.();
  }

  async #ask<T>(backend: Backend, key: string, question: () => Promise<T>): Promise<T> {
    try {
      if (!backend.isOpen) await backend.open();
      return await question();
    } catch (cause) {
      throw new LockUnavailableError(`Nothing is known of "${key}": ${backend.failure(cause)}`, { key, cause });
    }
  }

  #acquireOrEnter(backend: Backend, request: LockRequest, reentrant: boolean): Promise<Hold> {
    const own = reentrant ? this.chain.holdOf(backend, request.key) : undefined;
    if (own === undefined) return this.acquire(backend, request);
    own.enter();
    return Promise.resolve(own);
  }

  *#allLanes(): Generator<Lane> {
    for (const lanes of this.#lanes.values()) yield* lanes.values();
  }

  #lane(backend: Backend, key: string): Lane {
    const lanes = this.#lanes.get(backend) as Map<string, Lane>;
    let lane = lanes.get(key);
    if (lane === undefined) {
      lane = new Lane(this, backend, key, () => lanes.delete(key));
      lanes.set(key, lane);
    }
    return lane;
  }
}
