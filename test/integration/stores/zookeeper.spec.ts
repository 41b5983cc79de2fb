import { afterAll } from '@jest/globals';
import { zookeeperStore } from '../../../lib/stores/zookeeper/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { ZookeeperBackend } from '../../support/zookeeper-backend.js';
import { TICK_TIME } from '../../support/zookeeper-server.js';

const backend = await ZookeeperBackend.start();
afterAll(() => backend.stop());

const SESSION = 4 * TICK_TIME;

storeConformance('zookeeper', {
  createStore: () =>
    zookeeperStore({
      connectionString: backend.url,
      root: '/conformance/locks',
      sessionTimeout: SESSION,
      tickTime: TICK_TIME,
      commandTimeout: '1s',
    }),
  guarantees: {
    ownership: true,
    fencing: 'per-key',
    survivesFailover: true,
    fifo: true,
    reach: 'network',
    expiry: 'session',
    wakeUp: 'push',
  },
  sessionTime: SESSION,
  hooks: backend.hooks(),
});
