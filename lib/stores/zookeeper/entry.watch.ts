import { systemClock, type Timer } from '../../contract/index.js';
import type { Access } from './zookeeper.access.js';
import type { ZookeeperEntry } from './zookeeper.entry.js';
import type { Link } from './zookeeper.link.js';
import { unlessGone } from './zookeeper.reads.js';

/** ms. */
const WATCH_AFTER = 50;

/** Notices when entries of this process are removed by somebody else. */
export class EntryWatch {
  /** Those that are not watched yet. */
  readonly #unwatched = new Set<ZookeeperEntry>();
  #timer: Timer | undefined;

  constructor(
    private readonly access: Access,
    /** Told of an entry that has gone although its session lives. */
    private readonly onGone: (entry: ZookeeperEntry) => void,
  ) {}

  /** Reads an entry and watches it. `false`: it is gone, or another session's. */
  async read(link: Link, entry: ZookeeperEntry): Promise<boolean> {
    entry.ring ??= () => this.#look(entry);
    const read = await unlessGone(link.watches.read(entry.path, entry.ring));
    if (read?.node.stat.ephemeralOwner.toString('hex') !== entry.sessionId) return false;
    entry.fence = read.node.stat.czxid.readBigInt64BE();
    return true;
  }

  /** For one that has just been made: most locks are not held for long enough to be worth a watch. */
  later(entry: ZookeeperEntry): void {
    this.#unwatched.add(entry);
    this.#timer ??= systemClock.after(WATCH_AFTER, () => {
      this.#timer = undefined;
      for (const unwatched of this.#unwatched) this.#look(unwatched);
      this.#unwatched.clear();
    });
  }

  /** It is going to be removed: that it goes is no news. */
  leaving(entry: ZookeeperEntry): void {
    entry.leaving = true;
    this.#unwatched.delete(entry);
  }

  clear(): void {
    this.#unwatched.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(entry: ZookeeperEntry): void {
    const link = this.access.current?.link;
    if (entry.leaving || !link || link.ended || link.sessionId !== entry.sessionId) return;
    this.access
      .reading(undefined, (present) => this.read(present, entry))
      .then(
        (stands) => {
          if (!stands && !entry.leaving) this.onGone(entry);
        },
        () => this.later(entry),
      );
  }
}
