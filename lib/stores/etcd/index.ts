import { etcdSettings, type EtcdStoreOptions } from './etcd.options.js';
import { EtcdStore, type EtcdLockStore } from './etcd.store.js';

export type { EtcdClient } from './etcd.client.js';
export type { ForEachKey, GuardedLock } from '../shared/queue/guarded.lock.js';
export type { EtcdCredentials, EtcdStoreOptions } from './etcd.options.js';
export type { EtcdClause, EtcdLockStore } from './etcd.store.js';

/**
 * Locks in etcd 3.4 or later.
 *
 * A lock is an entry in the queue of its key, under a lease that all locks of the same `ttl` share and that is kept alive for as long
 * as this process lives. Taking a free lock is one transaction, giving it back another. Each waiting process watches the entry
 * before its own, so that they are served in the order in which they came and a release wakes one of them.
 *
 * A lock that the majority has agreed on survives the loss of any minority. The fencing token is the revision in which the entry
 * was made; {@link EtcdLockStore.guardTxn} has etcd itself refuse what a stale holder writes.
 *
 * @example
 * ```ts
 * LockModule.forRoot({ store: etcdStore({ hosts: ['http://etcd-1:2379', 'http://etcd-2:2379', 'http://etcd-3:2379'] }) })
 * ```
 * @throws LockOptionsError when an option is missing, unknown or out of its range
 */
export function etcdStore(options: EtcdStoreOptions): EtcdLockStore {
  return new EtcdStore(etcdSettings(options));
}
