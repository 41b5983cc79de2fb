import { afterAll } from '@jest/globals';
import { etcdStore } from '../../../lib/stores/etcd/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { EtcdBackend } from '../../support/etcd-backend.js';

const backend = await EtcdBackend.start();
afterAll(() => backend.stop());

storeConformance('etcd', {
  createStore: () =>
    etcdStore({ hosts: backend.url, prefix: 'conformance', commandTimeout: '500ms', connectTimeout: '1s' }),
  guarantees: {
    ownership: true,
    fencing: 'per-key',
    survivesFailover: true,
    fifo: true,
    reach: 'network',
    expiry: 'session',
    wakeUp: 'push',
  },
  hooks: backend.hooks(),
  // A lease of etcd lasts for a second at the least, and that only with elections of half a second.
  sessionTime: 1_000,
});
