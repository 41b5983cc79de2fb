import type { LockStore } from '../../contract/index.js';
import { guardOf, type ForEachKey, type GuardedLock } from '../shared/queue/guarded.lock.js';
import { QueueStore } from '../shared/queue/queue.store.js';
import { ZookeeperDialect } from './zookeeper.dialect.js';
import type { ZookeeperSettings } from './zookeeper.options.js';
import type { ZookeeperSession } from './zookeeper.session.js';

/** The arguments of `check()` of a transaction: it is carried out only while this node, which is never made again, stands. */
export type ZookeeperCheck = readonly [path: string, version: -1];

/** Locks in ZooKeeper. */
export interface ZookeeperLockStore extends LockStore {
  /**
   * What to add to a transaction of ZooKeeper so that it is carried out only while the lock is held: whoever has lost it meanwhile,
   * knowingly or not, changes nothing.
   *
   * @param lock of this store, as a body is handed it
   * @returns the arguments of a `check()` for each of its keys, for a client with the same chroot that may read the lock's nodes
   * @throws LockLostError when it is known to be lost
   * @throws LockOptionsError when the lock is of another store, or no lock
   * @example
   * ```ts
   * const [check] = store.guardTxn(lock);
   * client.transaction().check(...check).setData('/balance', Buffer.from('90')).commit((error) => …); // NO_NODE: it was lost
   * ```
   */
  guardTxn(lock: GuardedLock): ForEachKey<ZookeeperCheck>;
}

/** @see zookeeperStore */
export class ZookeeperStore extends QueueStore<ZookeeperSession> implements ZookeeperLockStore {
  readonly #dialect: ZookeeperDialect;

  constructor(settings: ZookeeperSettings) {
    const dialect = new ZookeeperDialect(settings);
    super(dialect, settings);
    this.#dialect = dialect;
  }

  guardTxn(lock: GuardedLock): ForEachKey<ZookeeperCheck> {
    const clauseOf = (owner: string): ZookeeperCheck | undefined => {
      const path = this.#dialect.pathOf(owner);
      return path === undefined ? undefined : [path, -1];
    };
    return guardOf(
      lock,
      (key) => this.holdsOf(key),
      ({ owner }) => clauseOf(owner),
    );
  }
}
