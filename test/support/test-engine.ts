import type { LockStore } from '../../lib/contract/index.js';
import type { Hold } from '../../lib/engine/hold.js';
import { LockEngine } from '../../lib/engine/lock.engine.js';
import type { LockRequest } from '../../lib/engine/lock.request.js';

/** An engine over one store, as a process of an application has it. */
export class TestEngine {
  readonly engine: LockEngine;
  readonly #backend;

  constructor(readonly store: LockStore) {
    const stores = new Map([['default', store]]);
    this.engine = new LockEngine({ stores, label: 'test', handOff: { max: 16, time: 50 } });
    this.#backend = this.engine.backend('default', 'test');
  }

  acquire(key: string, options: Partial<LockRequest> = {}): Promise<Hold> {
    const request = { ttl: 10_000, renew: true, wait: 5_000, maxHold: Infinity, minHold: 0, maxWaiters: Infinity };
    return this.engine.acquire(this.#backend, { ...request, handOff: true, ...options, key });
  }

  async close(): Promise<void> {
    await this.engine.close(0);
  }
}
