import { bareRedis } from './bare-redis.mjs';
import { bareSqlite } from './bare-sqlite.mjs';
import { oursSqlite } from './ours-sqlite.mjs';
import { ours } from './ours.mjs';
import { redisSemaphore } from './redis-semaphore.mjs';
import { redlock } from './redlock.mjs';

/** Each makes `{ withLock(key, body), close() }`. */
export const contestants = {
  'bare pair': bareRedis,
  ours,
  redlock,
  'redis-semaphore': redisSemaphore,
  'bare rows': bareSqlite,
  'ours (sqlite)': oursSqlite,
};
