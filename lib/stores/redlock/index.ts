import type { LockStore } from '../../contract/index.js';
import { redlockSettings, type RedlockStoreOptions } from './redlock.options.js';
import { RedlockStore } from './redlock.store.js';

export type { IoredisClient, NodeRedisClient, RedisClient } from '../redis/redis.client.js';
export type { RedlockStoreOptions } from './redlock.options.js';

/**
 * Locks by a majority of 3, 5 or more independent Redis servers (6.2 or later), after the Redlock algorithm.
 *
 * A key is held by whoever has the votes of more than half of the servers. So locking goes on while a minority is away.
 * It excludes the holders of the `redlock` package (version 4) as well, where both use the same names: see
 * {@link RedlockStoreOptions.prefix}.
 *
 * There are **no fencing tokens**: the servers share no counter. And a server that loses its data must stay away for as
 * long as the longest lease, or two may hold one key. Where that matters, take `redisStore` with a fenced resource, or
 * a store with consensus.
 *
 * Under ACLs its user needs, on every node, with the default prefix:
 *
 *     ACL SETUSER app on >password resetkeys resetchannels -@all ~lock:* &lock:released:*
 *       +evalsha +eval +get +set +del +pexpire +pttl +publish +subscribe +unsubscribe +info +ping +quit
 *
 * and what its client sends to connect: `+hello` for RESP3, `+select` for a database other than 0.
 *
 * @example
 * ```ts
 * LockModule.forRoot({ store: redlockStore({ urls: ['redis://a:6379', 'redis://b:6379', 'redis://c:6379'] }) })
 * ```
 * @throws LockOptionsError when an option is missing, unknown or out of its range, or the number of nodes is even or below 3
 */
export function redlockStore(options: RedlockStoreOptions): LockStore {
  return new RedlockStore(redlockSettings(options));
}
