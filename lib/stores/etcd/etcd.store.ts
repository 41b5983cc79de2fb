import type { LockStore } from '../../contract/index.js';
import { guardOf, type ForEachKey, type GuardedLock } from '../shared/queue/guarded.lock.js';
import { QueueStore } from '../shared/queue/queue.store.js';
import { EtcdDialect } from './etcd.dialect.js';
import type { EtcdSettings } from './etcd.options.js';
import type { EtcdSession } from './etcd.session.js';

/** The arguments of `if()` and `and()` of etcd3: the transaction is carried out only while this entry stands. */
export type EtcdClause = readonly [name: string, column: 'Create', comparator: '==', revision: string];

/** Locks in etcd. */
export interface EtcdLockStore extends LockStore {
  /**
   * What to add to a transaction of etcd so that it is carried out only while the lock is held: whoever has lost it meanwhile,
   * knowingly or not, changes nothing.
   *
   * @param lock of this store, as a body is handed it
   * @returns a clause for each of its keys, for `if()` and `and()` of the etcd3 client that the store was given, or of another one without a namespace
   * @throws LockLostError when it is known to be lost
   * @throws LockOptionsError when the lock is of another store, or no lock
   * @example
   * ```ts
   * const [clause] = store.guardTxn(lock);
   * const { succeeded } = await client.if(...clause).then(client.put('balance').value('90')).commit();
   * ```
   */
  guardTxn(lock: GuardedLock): ForEachKey<EtcdClause>;
}

/** @see etcdStore */
export class EtcdStore extends QueueStore<EtcdSession> implements EtcdLockStore {
  readonly #dialect: EtcdDialect;

  constructor(settings: EtcdSettings) {
    const dialect = new EtcdDialect(settings);
    super(dialect, settings);
    this.#dialect = dialect;
  }

  guardTxn(lock: GuardedLock): ForEachKey<EtcdClause> {
    return guardOf(
      lock,
      (key) => this.holdsOf(key),
      ({ owner, fence }): EtcdClause | undefined => {
        const name = this.#dialect.entryOf(owner);
        return name === undefined ? undefined : [name, 'Create', '==', String(fence)];
      },
    );
  }
}
