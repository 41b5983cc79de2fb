import type { LockModuleOptions, LockStore } from 'nestjs-distributed-lock';
import { mysqlStore } from 'nestjs-distributed-lock/mysql';
import { postgresStore } from 'nestjs-distributed-lock/postgres';
import { redisStore } from 'nestjs-distributed-lock/redis';
import { sqliteStore } from 'nestjs-distributed-lock/sqlite';
import type { ShopConfig } from '../shop.config.js';

export function lockOptions({ name, file, lockUrl, lockTtl }: ShopConfig): LockModuleOptions {
  return {
    store: lockUrl === undefined ? sqliteStore({ filename: file }) : storeAt(lockUrl),
    // How long the locks of a process that was killed stay taken.
    ttl: lockTtl,
    // How long a buyer queues before the answer is 423, "try again later".
    wait: '15s',
    // What others see as the holder.
    instance: name,
  };
}

/** An application has one of these; the demo can be asked for any. */
function storeAt(url: string): LockStore {
  if (url.startsWith('redis')) return redisStore({ url });
  if (url.startsWith('postgres')) return postgresStore({ connection: url });
  return mysqlStore({ connection: url });
}
