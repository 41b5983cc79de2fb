import { afterAll, describe } from '@jest/globals';
import type { LockStore } from '../../../lib/contract/index.js';
import { redisStore } from '../../../lib/stores/redis/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import type { TestClient } from '../../support/redis-clients.js';
import { RedisSentinelBackend } from '../../support/redis-sentinel-backend.js';
import { chosenVariants } from '../../support/variants.js';

interface Variant {
  readonly family: string;
  readonly keyPrefix?: string;
}

const variants: Record<string, Variant> = {
  ioredis: { family: 'ioredis6' },
  // A prefix of the client's own, below which each lock must still be one key throughout.
  ioredis5: { family: 'ioredis5', keyPrefix: 'app:' },
  redis: { family: 'redis6' },
};

// Before the servers are started: a wrong name must leave nothing running.
const chosen = chosenVariants(variants);
const backend = await RedisSentinelBackend.start();
afterAll(() => backend.stop());

describe.each(chosen)('%s', (name, { family, keyPrefix }) => {
  const clients: TestClient[] = [];
  afterAll(() => clients.forEach((client) => client.close()));

  async function createStore(): Promise<LockStore> {
    const connected = await backend.connect(family, keyPrefix === undefined ? {} : { keyPrefix });
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
      fencing: 'global',
      survivesFailover: false,
      fifo: true,
      reach: 'network',
      expiry: 'lease',
      wakeUp: 'push',
    },
    hooks: backend.hooks(),
  });
});
