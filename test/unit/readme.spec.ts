import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { LOCK_OPTION_NAMES } from '../../lib/options/index.js';
import { LockErrorCode } from '../../lib/index.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { mysqlStore } from '../../lib/stores/mysql/index.js';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { redlockStore } from '../../lib/stores/redlock/index.js';
import { sqliteStore } from '../../lib/stores/sqlite/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { documentedStores, guaranteesTable, withGuarantees } from '../../scripts/support/guarantees-table.mjs';

const readme = readFileSync('README.md', 'utf8');

it('shows the guarantees that the stores state (npm run docs writes them)', () => {
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
  expect(readme).toBe(withGuarantees(readme, guaranteesTable(stores)));
});

it('names every option and every error code', () => {
  for (const name of [...LOCK_OPTION_NAMES, ...Object.values(LockErrorCode)]) expect(readme).toContain(`\`${name}\``);
});
