import { afterAll, beforeAll, describe } from '@jest/globals';
import type { LockStore } from '../../../lib/contract/index.js';
import { redlockStore } from '../../../lib/stores/redlock/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { clientFamily, type TestClient } from '../../support/redis-clients.js';
import { RedlockBackend } from '../../support/redlock-backend.js';
import { chosenVariants } from '../../support/variants.js';

interface Variant {
  readonly nodes: number;
  /** One family for each node in turn: they may be mixed. */
  readonly families: readonly string[];
  readonly prefix: string;
}

const variants: Record<string, Variant> = {
  // Plain names, as the redlock package has them.
  '3': { nodes: 3, families: ['ioredis6'], prefix: '' },
  '5': { nodes: 5, families: ['redis6', 'ioredis6', 'ioredis5', 'redis5'], prefix: 'conformance' },
};

// Before the servers are started: a wrong name must leave nothing running.
describe.each(chosenVariants(variants))('%s', (_, { nodes, families, prefix }) => {
  let backend: RedlockBackend;
  const clients: TestClient[] = [];
  beforeAll(async () => {
    backend = await RedlockBackend.start(nodes);
  });
  afterAll(async () => {
    clients.forEach((client) => client.close());
    await backend.stop();
  });

  async function createStore(): Promise<LockStore> {
    const connected = await Promise.all(
      backend.urls.map((url, index) => clientFamily(families[index % families.length]!).connect({ url })),
    );
    clients.push(...connected);
    return redlockStore({ clients: connected.map(({ client }) => client), prefix });
  }

  storeConformance('redlock', {
    createStore,
    guarantees: {
      ownership: true,
      fencing: 'none',
      survivesFailover: false,
      fifo: false,
      reach: 'network',
      expiry: 'lease',
      wakeUp: 'push',
    },
    hooks: {
      pauseServer: () => (backend.hooks().pauseServer as () => Promise<() => void>)(),
      refuseConnections: () => (backend.hooks().refuseConnections as () => Promise<() => void>)(),
      breakConnections: () => (backend.hooks().breakConnections as () => void)(),
      dropReplies: () => (backend.hooks().dropReplies as () => Promise<() => void>)(),
      loseData: () => (backend.hooks().loseData as () => Promise<void>)(),
    },
  });
});
