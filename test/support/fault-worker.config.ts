import { etcdStore } from '../../lib/stores/etcd/index.js';
import { sqliteStore } from '../../lib/stores/sqlite/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import type { LockStore } from '../../lib/contract/index.js';
import { clusterClients, type ClusterFamily } from './redis-cluster-clients.js';
import type { Address } from './redis-cluster.js';

/** Where the locks of a fault test are kept. */
export type StoreLocation =
  | { readonly redis: string }
  | { readonly redisCluster: readonly Address[]; readonly family: ClusterFamily }
  | { readonly sqlite: string }
  | { readonly etcd: readonly string[] }
  | { readonly zookeeper: string };

export interface WorkerConfig {
  readonly store: StoreLocation;
  /** The file that the worker appends what happens to. */
  readonly history: string;
}

export interface HammerOptions {
  readonly keys: readonly string[];
  /** How many callers go for the keys at once. */
  readonly callers: number;
  /** ms, as are the others. */
  readonly ttl: number;
  readonly wait: number;
  /** A hold lasts between these. */
  readonly hold: readonly [shortest: number, longest: number];
  /** The part of the holds that last for one and a half leases, and so have to be renewed. Default 0. */
  readonly longHolds?: number;
  /** How long a caller pauses between two holds, at the most. */
  readonly pause: number;
}

export interface WorkerReport {
  readonly holds: number;
  /** ms from asking to holding, one for each hold. */
  readonly waits: readonly number[];
  readonly lost: number;
  readonly contended: number;
  readonly unavailable: number;
}

export async function openStore(location: StoreLocation): Promise<LockStore> {
  if ('redisCluster' in location) {
    const { client } = await clusterClients[location.family]({ nodes: location.redisCluster });
    return redisStore({ client, prefix: 'faults' });
  }
  if ('etcd' in location) return etcdStore({ hosts: location.etcd, prefix: 'faults' });
  if ('zookeeper' in location) {
    const times = { sessionTimeout: '2s', tickTime: '500ms', commandTimeout: '1s' } as const;
    return zookeeperStore({ connectionString: location.zookeeper, root: '/faults', ...times });
  }
  return 'redis' in location
    ? redisStore({ url: location.redis, prefix: 'faults' })
    : sqliteStore({ filename: location.sqlite });
}
