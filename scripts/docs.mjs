// Writes what is generated into the documentation: the guarantee matrix of the README.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuild, ensureDependencies } from './support/ensure.mjs';
import { documentedStores, guaranteesTable, withGuarantees } from './support/guarantees-table.mjs';
import { root } from './support/run.mjs';

await ensureDependencies();
await ensureBuild();
const { memoryStore } = await import('nestjs-distributed-lock/memory');
const { redisStore } = await import('nestjs-distributed-lock/redis');
const { redlockStore } = await import('nestjs-distributed-lock/redlock');
const { sqliteStore } = await import('nestjs-distributed-lock/sqlite');

const { postgresStore } = await import('nestjs-distributed-lock/postgres');
const { mysqlStore } = await import('nestjs-distributed-lock/mysql');
const { zookeeperStore } = await import('nestjs-distributed-lock/zookeeper');

const { etcdStore } = await import('nestjs-distributed-lock/etcd');
const stores = documentedStores({
  etcdStore,
  memoryStore,
  mysqlStore,
  postgresStore,
  redisStore,
  redlockStore,
  sqliteStore,
  zookeeperStore,
});
const readme = join(root, 'README.md');
writeFileSync(readme, withGuarantees(readFileSync(readme, 'utf8'), guaranteesTable(stores)));
