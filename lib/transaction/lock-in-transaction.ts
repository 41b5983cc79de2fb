import { checkKey } from '../keys/index.js';
import { lockOnMysql } from './mysql/index.js';
import { lockOnPostgres } from './postgres/index.js';
import { openSession, PLACE } from './sources/index.js';
import { TransactionLock } from './transaction-lock.js';
import { readTransactionOptions, type TransactionLockOptions } from './transaction.options.js';
import type { TransactionSource } from './transaction-source.js';
import { Turns } from './turns.js';

/** A lock that lives as long as the transaction it was taken in. There is nothing to release. */
export interface TransactionHold {
  /** What is locked. */
  readonly key: string;
  /**
   * Larger than that of every earlier hold of the key under the same `table`, rolled back or not; for writes to resources outside of the
   * database. Only with `fencing: true`. Not comparable with the tokens of a store.
   */
  readonly fencingToken: bigint | undefined;
}

const turns = new Turns();

/**
 * Takes the lock on `key` within the caller's open transaction. The server releases it when the transaction commits or
 * rolls back, so that the next holder sees what this one has written. There is no other way to release it, no ttl and no
 * renewal. Within one transaction a key may be taken again at no cost.
 *
 * Call it before the transaction reads what the lock protects: under `REPEATABLE READ` (MySQL's default) whatever has been read
 * before stays as it was. Await it before the next statement of the same transaction.
 *
 * Whoever takes such a lock excludes others who take it by `lockInTransaction()`, in the same mode: not those who use a store.
 *
 * @param tx the transaction: a Client or PoolClient of pg, a connection of mysql2, an EntityManager or QueryRunner of TypeORM, a
 *   Transaction of Knex or Kysely, or an adapter (see {@link SqlTransaction})
 * @param key what must be exclusive, compared byte by byte
 * @throws LockContendedError when somebody else kept the key for longer than `wait`; the transaction goes on as if the call had not been made
 * @throws LockTransactionError when the server chose the transaction to break a deadlock, or it cannot go on; its `transaction` tells the state
 * @throws LockUnavailableError when the server failed or did not answer; roll back
 * @throws LockOptionsError when `tx` is no open transaction, an option is wrong, or the lock table's engine is not InnoDB (MySQL)
 * @throws LockKeyError when the key is not a non-empty, well-formed text
 */
export async function lockInTransaction(
  tx: TransactionSource,
  key: string,
  options: TransactionLockOptions = {},
): Promise<TransactionHold> {
  checkKey(key, PLACE);
  const session = openSession(tx);
  const lock = new TransactionLock(session, key, readTransactionOptions(options, session.dialect));
  const take = session.dialect === 'postgres' ? lockOnPostgres : lockOnMysql;
  const fencingToken = await turns.take(session.connection, () => take(lock));
  return { key, fencingToken };
}
