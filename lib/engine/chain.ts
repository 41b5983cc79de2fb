import { AsyncLocalStorage } from 'node:async_hooks';
import type { Backend } from './backend.js';
import type { Hold } from './hold.js';
import type { Lock } from './lock.js';

interface Link {
  readonly lock: Lock;
  readonly holds: readonly Hold[];
  readonly outer: Link | undefined;
}

/** Which locks the present async call chain runs under. Work that it starts runs under them too, while they are held. */
export class Chain {
  readonly #storage = new AsyncLocalStorage<Link>();

  run<T>(lock: Lock, holds: readonly Hold[], body: () => T): T {
    return this.#storage.run({ lock, holds, outer: this.#innermost() }, body);
  }

  // Work that starts itself again from within a body would otherwise drag all its past locks along.
  #innermost(): Link | undefined {
    let link = this.#storage.getStore();
    while (link !== undefined && !link.lock.held) link = link.outer;
    return link;
  }

  /** The innermost lock that is still held, of `key` if one is given. */
  current(key?: string): Lock | undefined {
    for (let link = this.#storage.getStore(); link !== undefined; link = link.outer) {
      if ((key === undefined || link.lock.keys.includes(key)) && link.lock.held) return link.lock;
    }
    return undefined;
  }

  /** How many locks the present call chain remembers. */
  get depth(): number {
    let depth = 0;
    for (let link = this.#storage.getStore(); link !== undefined; link = link.outer) depth += 1;
    return depth;
  }

  /** The chain's own hold of a key, while it is held. */
  holdOf(backend: Backend, key: string): Hold | undefined {
    for (let link = this.#storage.getStore(); link !== undefined; link = link.outer) {
      const found = link.holds.find((hold) => hold.backend === backend && hold.key === key);
      if (found?.held) return found;
    }
    return undefined;
  }
}
