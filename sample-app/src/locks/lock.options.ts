import type { LockModuleOptions } from 'nestjs-distributed-lock';
import { redisStore } from 'nestjs-distributed-lock/redis';
import { sqliteStore } from 'nestjs-distributed-lock/sqlite';
import type { ShopConfig } from '../shop.config.js';

export function lockOptions({ name, file, lockRedisUrl, lockTtl }: ShopConfig): LockModuleOptions {
  return {
    store: lockRedisUrl === undefined ? sqliteStore({ filename: file }) : redisStore({ url: lockRedisUrl }),
    // How long the locks of a process that was killed stay taken.
    ttl: lockTtl,
    // How long a buyer queues before the answer is 423, "try again later".
    wait: '15s',
    // What others see as the holder.
    instance: name,
  };
}
