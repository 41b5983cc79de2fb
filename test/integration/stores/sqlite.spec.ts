import { afterAll } from '@jest/globals';
import { sqliteStore } from '../../../lib/stores/sqlite/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { SqliteBackend } from '../../support/sqlite-backend.js';

const backend = new SqliteBackend();
afterAll(() => backend.stop());

storeConformance('sqlite', {
  createStore: () => sqliteStore({ filename: backend.filename, driver: 'better-sqlite3', commandTimeout: '500ms' }),
  guarantees: {
    ownership: true,
    fencing: 'global',
    survivesFailover: false,
    fifo: true,
    reach: 'host',
    expiry: 'lease',
    wakeUp: 'poll',
  },
  hooks: backend.hooks(),
});
