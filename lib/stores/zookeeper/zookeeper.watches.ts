import type { Calls, NodeData } from './zookeeper.calls.js';
import type { NodeEvent } from './zookeeper.client.js';
import { codeOf, ZK } from './zookeeper.errors.js';

interface Watch {
  readonly rings: Set<() => void>;
  readonly watcher: (event: NodeEvent) => void;
}

/**
 * Watches of nodes. The client cannot take a watcher back, so that each path has one function, shared by whoever wants to know, which stays
 * until its event comes. An entry's does come, when the entry goes: there are never more of them than entries.
 */
export class Watches {
  readonly #watches = new Map<string, Watch>();

  constructor(private readonly calls: Calls) {}

  get size(): number {
    return this.#watches.size;
  }

  /** Reads a node and rings when it changes or goes, once. @returns what to call when nobody wants to know any more, and the node */
  async read(path: string, ring: () => void): Promise<{ readonly stop: () => void; readonly node: NodeData }> {
    const watch = this.#watches.get(path) ?? this.#add(path);
    watch.rings.add(ring);
    const stop = (): void => void watch.rings.delete(ring);
    try {
      return { stop, node: await this.calls.data(path, watch.watcher) };
    } catch (error) {
      stop();
      // Then nothing was registered. After a lost answer something may have been, and its event finds nobody.
      if (codeOf(error) === ZK.noNode || watch.rings.size === 0) this.#remove(path, watch);
      throw error;
    }
  }

  /** The session is over: whoever waits looks for himself. */
  end(): void {
    const watches = [...this.#watches.values()];
    this.#watches.clear();
    for (const { rings } of watches) for (const ring of rings) ring();
  }

  #add(path: string): Watch {
    const watch: Watch = {
      rings: new Set(),
      watcher: () => {
        this.#remove(path, watch);
        for (const ring of watch.rings) ring();
      },
    };
    this.#watches.set(path, watch);
    return watch;
  }

  #remove(path: string, watch: Watch): void {
    if (this.#watches.get(path) === watch) this.#watches.delete(path);
  }
}
