import type { Clock, LockStore } from '../../contract/index.js';
import type { Backend } from '../../engine/backend.js';
import type { HandOffLimits } from '../../engine/engine.context.js';
import type { Hold } from '../../engine/hold.js';
import { LockEngine } from '../../engine/lock.engine.js';
import type { LockEvents } from '../../engine/lock.events.js';
import type { LockRequest } from '../../engine/lock.request.js';
import type { Lock } from '../../engine/lock.js';
import type { RunPlan } from '../../engine/run-plan.js';
import { ObservedStore } from './observed-store.js';

export interface ProcessOptions {
  readonly label?: string;
  readonly handOff?: HandOffLimits;
  readonly clock?: Clock;
}

export type RequestOptions = Partial<Omit<LockRequest, 'key'>>;
type PlanOptions<T> = RequestOptions & Partial<Pick<RunPlan<T>, 'onLost' | 'onContended' | 'reentrant'>>;

const HAND_OFF: HandOffLimits = { max: 16, time: 50 };

/** An engine over a store of its own: what a process of an application is. */
export class EngineProcess {
  readonly store: ObservedStore;
  readonly engine: LockEngine;
  readonly lost: LockEvents['lost'][] = [];
  readonly #backend: Backend;

  constructor(
    store: LockStore,
    private readonly timeScale: number,
    { label = 'engine', handOff = HAND_OFF, clock }: ProcessOptions = {},
  ) {
    this.store = new ObservedStore(store);
    this.engine = new LockEngine({ stores: new Map([['default', this.store]]), label, handOff, clock });
    this.engine.events.on('lost', (event) => void this.lost.push(event));
    this.#backend = this.engine.backend('default', 'conformance');
  }

  acquire(key: string, options: RequestOptions = {}): Promise<Hold> {
    return this.engine.acquire(this.#backend, { ...this.#defaults(), handOff: true, ...options, key });
  }

  run<T>(
    keys: string | readonly string[],
    body: (lock: Lock) => T | Promise<T>,
    options: PlanOptions<T> = {},
  ): Promise<T> {
    const { onLost = 'report', reentrant = false, onContended, ...request } = options;
    const plan: RunPlan<T> = {
      backend: this.#backend,
      keys: typeof keys === 'string' ? [keys] : keys,
      request: { ...this.#defaults(), ...request },
      reentrant,
      onLost,
      onContended,
    };
    return this.engine.run(plan, body);
  }

  waiters(key: string): number {
    return this.engine.localWaiters(this.#backend, key);
  }

  #defaults(): Omit<LockRequest, 'key' | 'handOff'> {
    return {
      ttl: 10_000 * this.timeScale,
      renew: true,
      wait: 5_000 * this.timeScale,
      maxHold: Infinity,
      minHold: 0,
      maxWaiters: Infinity,
    };
  }
}
