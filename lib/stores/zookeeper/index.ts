import { zookeeperSettings, type ZookeeperStoreOptions } from './zookeeper.options.js';
import { ZookeeperStore, type ZookeeperLockStore } from './zookeeper.store.js';

export type { ZookeeperAcl, ZookeeperClient } from './zookeeper.client.js';
export type { ForEachKey, GuardedLock } from '../shared/queue/guarded.lock.js';
export type { ZookeeperAuth, ZookeeperStoreOptions } from './zookeeper.options.js';
export type { ZookeeperCheck, ZookeeperLockStore } from './zookeeper.store.js';

/**
 * Locks in ZooKeeper 3.5 or later.
 *
 * A lock is an entry in the queue of its key: an ephemeral, sequential node. All entries of a process are in one session, which is kept alive for
 * as long as the process lives; `ttl` has no effect on it, `sessionTimeout` is how long a crashed process keeps its locks. Each waiting process
 * watches the entry before its own, so that they are served in the order in which they came and a release wakes one of them.
 *
 * A lock that the majority has agreed on survives the loss of any minority. The fencing token is the number of the change that made the
 * entry; {@link ZookeeperLockStore.guardTxn} has ZooKeeper itself refuse what a stale holder writes.
 *
 * @example
 * ```ts
 * LockModule.forRoot({ store: zookeeperStore({ connectionString: 'zk1:2181,zk2:2181,zk3:2181' }) })
 * ```
 * @throws LockOptionsError when an option is missing, unknown or out of its range
 */
export function zookeeperStore(options: ZookeeperStoreOptions): ZookeeperLockStore {
  return new ZookeeperStore(zookeeperSettings(options));
}
