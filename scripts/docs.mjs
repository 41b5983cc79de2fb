// Writes what is generated of the documentation: the guarantee matrix of the README, the table of metrics, and the API reference.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiFolder } from './support/docs/api-check.mjs';
import { writeApiReference } from './support/docs/api-reference.mjs';
import { ensureBuild, ensureDependencies } from './support/ensure.mjs';
import { documentedStores, guaranteesTable, withGuarantees } from './support/guarantees-table.mjs';
import { metricsTable, withMetrics } from './support/metrics-table.mjs';
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

// Not public: people read the table.
const { LOCK_METRICS } = await import('../dist/esm/opentelemetry/lock.metrics.js');
const observability = join(root, 'docs/observability.md');
writeFileSync(observability, withMetrics(readFileSync(observability, 'utf8'), metricsTable(LOCK_METRICS)));

await writeApiReference(apiFolder);
