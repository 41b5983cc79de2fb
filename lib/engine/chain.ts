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
    while (link !== undefined && isPast(link)) link = link.outer;
    return link;
  }

  /** The innermost lock that has not been given back, of `key` if one is given. It may be lost: its body learns of that by it. */
  current(key?: string): Lock | undefined {
    for (let link = this.#storage.getStore(); link !== undefined; link = link.outer) {
      if ((key === undefined || link.lock.keys.includes(key)) && !isPast(link)) return link.lock;
    }
    return undefined;
  }

  /** Whether the chain holds anything. */
  get holds(): boolean {
    for (let link = this.#storage.getStore(); link !== undefined; link = link.outer) if (link.lock.held) return true;
    return false;
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

// One that is switched off has no holds.
function isPast({ lock, holds }: Link): boolean {
  return holds.length === 0 ? !lock.held : holds.every((hold) => hold.givenBack);
}
