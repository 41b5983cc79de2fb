import type { LockStore } from '../../contract/index.js';
import { redisSettings, type RedisStoreOptions } from './redis.options.js';
import { RedisStore } from './redis.store.js';

export type {
  IoredisClient,
  IoredisCluster,
  NodeRedisClient,
  NodeRedisGroup,
  RedisClient,
  RedisGroup,
} from './redis.client.js';
export type { RedisStoreOptions } from './redis.options.js';

/**
 * Locks on Redis (6.2 or later) or Valkey: one node, behind Sentinel, or a Cluster.
 *
 * Taking a free lock is one round trip, giving it back another. Waiting processes queue on the server: whoever gives a
 * lock back reserves it for the first of them and tells it on its own channel, so that they are served in the order in
 * which they came, and nobody polls for it.
 *
 * Redis replicates after it has answered: a lock may be granted twice around a failover. Give the fencing token to the
 * resource where that matters; {@link RedisStoreOptions.waitReplicas} makes it rare. Tokens increase over all keys of a prefix, in a
 * cluster over those of a slot. Set the `maxmemory-policy` noeviction: any other may delete a lock that is held.
 *
 * Under ACLs its user needs, with the default prefix:
 *
 *     ACL SETUSER app on >password resetkeys resetchannels -@all ~{lock* &lock:wake:*
 *       +evalsha +eval +get +set +del +pexpire +pttl +lpop +rpush +lpos +lrem +llen +time +publish +subscribe +ping +quit
 *
 * and what its client sends to connect: `+info` for ioredis, `+hello` for RESP3, `+select` for a database other than 0,
 * `+cluster` for a cluster. `waitReplicas` needs `+wait +client|info`, the warnings at start `+info`.
 *
 * @example
 * ```ts
 * LockModule.forRoot({ store: redisStore({ url: 'redis://localhost:6379' }) })
 * ```
 * @throws LockOptionsError when an option is missing, unknown or out of its range
 */
export function redisStore(options: RedisStoreOptions): LockStore {
  return new RedisStore(redisSettings(options));
}
