import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster as IoredisCluster6, type ClusterOptions } from 'ioredis';
import { Cluster as IoredisCluster5 } from 'ioredis5';
import { createCluster as createCluster6 } from 'redis';
import { createCluster as createCluster5 } from 'redis5';
import type { RedisClient } from '../../lib/stores/redis/index.js';
import type { Address } from './redis-cluster.js';

/** A cluster's client of a user, connected, whichever library it is of. */
export interface TestClusterClient {
  readonly client: RedisClient;
  close(): void;
}

export interface ClusterClientSettings {
  /** Where it looks for the cluster. It is led to the others from there. */
  readonly nodes: readonly Address[];
  readonly keyPrefix?: string;
}

type Connect = (settings: ClusterClientSettings) => Promise<TestClusterClient>;

export const clusterClients = {
  ioredis6: (settings) => ioredis(IoredisCluster6, settings),
  ioredis5: (settings) => ioredis(IoredisCluster5 as unknown as typeof IoredisCluster6, settings),
  redis6: (settings) => nodeRedis(createCluster6, settings),
  redis5: (settings) => nodeRedis(createCluster5 as unknown as typeof createCluster6, settings),
} as const satisfies Record<string, Connect>;

export type ClusterFamily = keyof typeof clusterClients;

async function ioredis(
  Cluster: typeof IoredisCluster6,
  { nodes, keyPrefix }: ClusterClientSettings,
): Promise<TestClusterClient> {
  const options: ClusterOptions = { redisOptions: { disconnectTimeout: 100 } };
  const client = new Cluster([...nodes], keyPrefix === undefined ? options : { ...options, keyPrefix });
  client.on('error', () => undefined);
  if (client.status !== 'ready') await once(client, 'ready');
  return { client: client as unknown as RedisClient, close: () => client.disconnect() };
}

async function nodeRedis(
  createCluster: typeof createCluster6,
  { nodes }: ClusterClientSettings,
): Promise<TestClusterClient> {
  const client = createCluster({ rootNodes: nodes.map((socket) => ({ socket })) });
  client.on('error', () => undefined);
  // Not without a bound: the store connects by itself.
  await Promise.race([client.connect(), sleep(10_000, undefined, { ref: false })]);
  return {
    client: client as unknown as RedisClient,
    close: () => {
      if (client.isOpen) client.destroy();
    },
  };
}
