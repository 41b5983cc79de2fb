import { Injectable } from '@nestjs/common';
import type { StoreGuarantees } from './contract/index.js';
import type { Backend } from './engine/backend.js';
import { DisabledLock } from './engine/disabled-lock.js';
import type { LockEngine } from './engine/lock.engine.js';
import { LOCK_EVENT_NAMES, type LockEventListener, type LockEventName } from './engine/lock.events.js';
import type { Lock } from './engine/lock.js';
import type { StoreName } from './engine/lock.telemetry.js';
import type { RunPlan } from './engine/run-plan.js';
import { LockContendedError, LockOptionsError } from './errors/index.js';
import { checkKey, checkKeys } from './keys/index.js';
import { requireGuarantee } from './lock.guarantee.js';
import { inspect, type LockInspection } from './lock.inspection.js';
import {
  ACQUIRE_OPTION_NAMES,
  checkTemplates,
  LOCK_OPTION_NAMES,
  resolveOptions,
  show,
  type AcquireOptions,
  type ContendedInfo,
  type LockOptions,
  type ResolvedLockOptions,
} from './options/index.js';

/** What a body returns under `onContended`: `undefined` when it was skipped. */
type Body<T> = (lock: Lock) => T | Promise<T>;

/** Locks by hand: what people inject. */
@Injectable()
export class LockService {
  // Decorators pass the same frozen options at every call: they are looked at once.
  readonly #resolved = new WeakMap<LockOptions, ResolvedLockOptions>();

  /** @internal */
  constructor(
    private readonly engine: LockEngine,
    private readonly defaults: ResolvedLockOptions & { readonly store: string },
  ) {}

  /**
   * Takes a key and leaves its release to the caller, best by `await using lock = await locks.acquire(key)`. Prefer
   * {@link withLock}, which cannot forget.
   *
   * @throws LockContendedError when somebody else kept it for longer than `wait`
   * @throws LockUnavailableError when the store did not answer
   * @throws LockKeyError, LockOptionsError for bad input; LockReentrancyError when the call chain holds the key already
   */
  async acquire(key: string, options?: AcquireOptions): Promise<Lock> {
    return this.#acquire(checkKey(key, 'acquire()'), this.#resolve(options, 'acquire()', ACQUIRE_OPTION_NAMES));
  }

  /**
   * Takes a key if it is free: like {@link acquire}, but `null` when somebody else has it, and without waiting unless
   * `wait` says so.
   */
  async tryAcquire(key: string, options?: AcquireOptions): Promise<Lock | null> {
    const resolved = this.#resolve({ ...options, wait: options?.wait ?? 0 }, 'tryAcquire()', ACQUIRE_OPTION_NAMES);
    try {
      return await this.#acquire(checkKey(key, 'tryAcquire()'), resolved);
    } catch (error) {
      if (error instanceof LockContendedError) return null;
      throw error;
    }
  }

  /**
   * Runs `body` while holding the key, or all of several keys, and answers what it returns. Whatever happens to the
   * lock, the body's own result or error is what comes out, unless `onLost: 'throw'`.
   *
   * @throws LockContendedError when somebody else kept a key for longer than `wait` (see `onContended`)
   * @throws LockUnavailableError when the store did not answer
   * @throws LockKeyError, LockOptionsError for bad input; LockReentrancyError when the call chain holds a key already
   */
  async withLock<T>(keys: string | readonly string[], body: Body<T>): Promise<T>;
  async withLock<T>(
    keys: string | readonly string[],
    options: LockOptions & { onContended: 'skip' },
    body: Body<T>,
  ): Promise<T | undefined>;
  async withLock<T, F>(
    keys: string | readonly string[],
    options: LockOptions & { onContended: (info: ContendedInfo) => F },
    body: Body<T>,
  ): Promise<T | Awaited<F>>;
  async withLock<T>(keys: string | readonly string[], options: LockOptions, body: Body<T>): Promise<T>;
  async withLock<T>(keys: string | readonly string[], options: LockOptions | Body<T>, body?: Body<T>): Promise<T> {
    const place = 'withLock()';
    const [given, run] = typeof options === 'function' ? [undefined, options] : [options, body];
    if (typeof run !== 'function') {
      throw new LockOptionsError(
        `${place}: the body is ${show(run)}, but must be a function: withLock(key, options?, body).`,
      );
    }
    if (given === undefined && body !== undefined) {
      throw new LockOptionsError(`${place}: the options come before the body: withLock(key, options, body).`);
    }
    const checked = checkKeys(keys, place);
    const resolved = this.#resolve(given, place, LOCK_OPTION_NAMES);
    const backend = this.#backend(resolved, place);
    if (!resolved.enabled) {
      const lock = new DisabledLock(backend, checked);
      return await this.engine.chain.run(lock, [], () => run(lock));
    }
    return await this.engine.run(this.#plan<T>(backend, checked, resolved), run);
  }

  /**
   * The innermost lock that the present call chain runs under, of `key` if one is given. Only bodies of {@link withLock}
   * and of decorated methods count; a lock from {@link acquire} belongs to no chain. A lock that is lost stays its body's
   * current one: `current()?.throwIfLost()` throws.
   */
  current(key?: string): Lock | undefined {
    return this.engine.chain.current(key);
  }

  /** Who holds a key, or `undefined` when it is free. @throws LockUnavailableError when the store did not answer */
  async inspect(key: string, options?: { readonly store?: string }): Promise<LockInspection | undefined> {
    const checked = checkKey(key, 'inspect()');
    const backend = this.#named(options, 'inspect()');
    return inspect(this.engine, backend, checked);
  }

  /**
   * Takes a key away from whoever holds it, for an operator who knows that the holder is gone. A holder that is not
   * gone is told at its next renewal.
   *
   * @returns whether anybody held it
   * @throws LockUnavailableError when the store did not answer
   */
  async forceRelease(key: string, options?: { readonly store?: string }): Promise<boolean> {
    const checked = checkKey(key, 'forceRelease()');
    const backend = this.#named(options, 'forceRelease()');
    return this.engine.forceRelease(backend, checked);
  }

  /** What a lock that is taken with `options` goes by: the defaults filled in, durations in ms. */
  options(options?: LockOptions): ResolvedLockOptions & { readonly store: string } {
    const resolved = this.#resolve(options, 'options()', LOCK_OPTION_NAMES);
    return { ...resolved, store: resolved.store ?? this.defaults.store };
  }

  /** The stores of the module. */
  stores(): readonly StoreName[] {
    return this.engine.stores;
  }

  /** What a store promises. */
  guarantees(options?: { readonly store?: string }): StoreGuarantees {
    return this.#named(options, 'guarantees()').store.guarantees;
  }

  /**
   * Listens to what happens to locks. A listener that throws breaks nothing.
   *
   * @returns a function that ends the subscription
   */
  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): () => void {
    if (!LOCK_EVENT_NAMES.includes(event)) {
      throw new LockOptionsError(`on(): there is no event ${show(event)}. There are: ${LOCK_EVENT_NAMES.join(', ')}.`);
    }
    if (typeof listener !== 'function')
      throw new LockOptionsError(`on(): the listener is ${show(listener)}, but must be a function.`);
    return this.engine.events.on(event, listener);
  }

  /** @internal Shows a lock that is held already to a body in another way. */
  runUnder<T>(lock: Lock, body: () => T): T {
    return this.engine.chain.run(lock, [], body);
  }

  #acquire(key: string, resolved: ResolvedLockOptions): Promise<Lock> {
    const backend = this.#backend(resolved, 'acquire()');
    if (!resolved.enabled) return Promise.resolve(new DisabledLock(backend, [key]));
    const template = checkTemplates(resolved.template, [key], 'acquire()');
    return this.engine.acquire(backend, {
      ...resolved,
      key,
      handOff: true,
      template: typeof template === 'object' ? template[0] : template,
    });
  }

  #plan<T>(backend: Backend, keys: readonly string[], resolved: ResolvedLockOptions): RunPlan<T> {
    const { onContended, reentrant, onLost } = resolved;
    return {
      backend,
      keys,
      request: resolved,
      template: checkTemplates(resolved.template, keys, 'withLock()'),
      reentrant,
      onLost,
      onContended: contendedAnswer(onContended, keys) as RunPlan<T>['onContended'],
    };
  }

  #resolve(given: LockOptions | undefined, place: string, allowed: readonly string[]): ResolvedLockOptions {
    if (given === undefined) return this.defaults;
    const known = this.#resolved.get(given);
    if (known !== undefined) return known;
    const resolved = resolveOptions(this.defaults, given, place, allowed);
    if (Object.isFrozen(given)) this.#resolved.set(given, resolved);
    return resolved;
  }

  #named(options: { readonly store?: string } | undefined, place: string): Backend {
    const { store = this.defaults.store } = this.#resolve(options, place, ['store']);
    return this.engine.backend(store, place);
  }

  #backend({ store = this.defaults.store, guarantee, enabled }: ResolvedLockOptions, place: string): Backend {
    const backend = this.engine.backend(store, place);
    if (enabled) requireGuarantee(backend, guarantee, place);
    return backend;
  }
}

function contendedAnswer(
  onContended: LockOptions['onContended'],
  keys: readonly string[],
): ((error: LockContendedError) => unknown) | undefined {
  if (onContended === 'skip') return () => undefined;
  if (typeof onContended !== 'function') return undefined;
  return (error) => onContended({ keys, holder: error.holder, waited: error.waited, error });
}
