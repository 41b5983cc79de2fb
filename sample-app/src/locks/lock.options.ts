import type { LockModuleOptions, LockStore } from 'nestjs-distributed-lock';
import { etcdStore } from 'nestjs-distributed-lock/etcd';
import { mysqlStore } from 'nestjs-distributed-lock/mysql';
import { postgresStore } from 'nestjs-distributed-lock/postgres';
import { redisStore } from 'nestjs-distributed-lock/redis';
import { redlockStore } from 'nestjs-distributed-lock/redlock';
import { sqliteStore } from 'nestjs-distributed-lock/sqlite';
import { zookeeperStore } from 'nestjs-distributed-lock/zookeeper';
import type { ShopConfig } from '../shop.config.js';

export function lockOptions({ name, file, lockUrl, lockTtl }: ShopConfig): LockModuleOptions {
  return {
    store: lockUrl === undefined ? sqliteStore({ filename: file }) : storeAt(lockUrl, lockTtl),
    // How long the locks of a process that was killed stay taken.
    ttl: lockTtl,
    // How long a buyer queues before the answer is 423, "try again later".
    wait: '15s',
    // What others see as the holder.
    instance: name,
  };
}

/** An application has one of these; the demo can be asked for any. */
function storeAt(url: string, ttl: ShopConfig['lockTtl']): LockStore {
  if (url.startsWith('redlock:')) {
    // One URL for all nodes: redlock:host:port,host:port,host:port
    const nodes = url.slice('redlock:'.length).split(',');
    return redlockStore({ urls: nodes.map((node) => `redis://${node}`) });
  }
  if (url.startsWith('redis')) return redisStore({ url });
  if (url.startsWith('postgres')) return postgresStore({ connection: url });
  if (url.startsWith('http')) return etcdStore({ hosts: url });
  // Its locks live as long as a session, whatever their ttl.
  if (url.startsWith('zookeeper:')) return zookeeperStore({ connectionString: new URL(url).host, sessionTimeout: ttl });
  return mysqlStore({ connection: url });
}
