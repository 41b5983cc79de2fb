import type { Link } from './zookeeper.link.js';

// Of the keys that are used all the time, whose nodes would only be made again.
const KEPT = 1_000;

/**
 * The nodes of the keys, each of which has its queue below it. They are containers: the server removes those that have become empty, but no more than
 * 10,000 a minute and none that never had a child. So a process keeps those of the keys that it has used last and removes the others by itself: that
 * fails, as it should, while there are entries below.
 */
export class Parents {
  /** Those that are there for all that is known, the least recently used first. */
  readonly #known = new Set<string>();

  has(path: string): boolean {
    return this.#known.has(path);
  }

  forget(path: string): void {
    this.#known.delete(path);
  }

  /** An entry below it was there just now. */
  used(path: string, link: Link): void {
    this.#known.delete(path);
    this.#known.add(path);
    if (this.#known.size <= KEPT) return;
    for (const oldest of this.#known) {
      this.#known.delete(oldest);
      // Nobody waits for it. Whoever is about to enter finds the node gone, and makes it again.
      if (link.connected) link.calls.remove(oldest).catch(() => undefined);
      return;
    }
  }
}
