import type { LockStore } from '../../lib/index.js';

type Named = Pick<LockStore, 'name' | 'guarantees'>;
type Factories = Record<
  | 'etcdStore'
  | 'memoryStore'
  | 'mysqlStore'
  | 'postgresStore'
  | 'redisStore'
  | 'redlockStore'
  | 'sqliteStore'
  | 'zookeeperStore',
  unknown
>;

export function documentedStores(factories: Factories): Named[];
export function guaranteesTable(stores: readonly Named[]): string;
export function withGuarantees(text: string, table: string): string;
