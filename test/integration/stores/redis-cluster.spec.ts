import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import type { LockStore } from '../../../lib/contract/index.js';
import { redisStore } from '../../../lib/stores/redis/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { RedisClusterBackend } from '../../support/redis-cluster-backend.js';
import { clusterClients, type ClusterFamily, type TestClusterClient } from '../../support/redis-cluster-clients.js';
import { chosenVariants } from '../../support/variants.js';

interface Variant {
  readonly family: ClusterFamily;
  readonly keyPrefix?: string;
}

const variants: Record<string, Variant> = {
  ioredis: { family: 'ioredis6' },
  // A prefix of the client's own, below which each lock must still stand in one slot with its queue and its counter.
  ioredis5: { family: 'ioredis5', keyPrefix: 'app:' },
  redis: { family: 'redis6' },
};

// Before the servers are started: a wrong name must leave nothing running.
const chosen = chosenVariants(variants);
const backend = await RedisClusterBackend.start();
afterAll(() => backend.stop());

describe.each(chosen)('%s', (name, { family, keyPrefix }) => {
  const clients: TestClusterClient[] = [];
  // Each of them would come back to all nodes at each fault.
  afterEach(() => clients.splice(0).forEach((client) => client.close()));

  async function createStore(): Promise<LockStore> {
    const connect = clusterClients[family];
    const connected = await connect({
      nodes: backend.cluster.nodes,
      ...(keyPrefix === undefined ? {} : { keyPrefix }),
    });
    clients.push(connected);
    return redisStore({
      client: connected.client,
      prefix: `conformance-${name}`,
      commandTimeout: '500ms',
      claimTtl: '500ms',
    });
  }

  storeConformance('redis', {
    createStore,
    guarantees: {
      ownership: true,
      fencing: 'per-key',
      survivesFailover: false,
      fifo: true,
      reach: 'network',
      expiry: 'lease',
      wakeUp: 'push',
    },
    hooks: backend.hooks(),
  });
});

// It does not say when it is ready.
test('a cluster of redis 5 is refused when the store is made', async () => {
  const { client, close } = await clusterClients.redis5({ nodes: backend.cluster.nodes });
  try {
    expect(() => redisStore({ client })).toThrow(/client is .*cluster.*createCluster\(\)` of redis 6/);
  } finally {
    close();
  }
});
