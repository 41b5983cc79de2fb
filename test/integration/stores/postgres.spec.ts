import { afterAll, describe } from '@jest/globals';
import type { StoreGuarantees } from '../../../lib/contract/index.js';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { PostgresBackend } from '../../support/postgres-backend.js';
import { chosenVariants } from '../../support/variants.js';

interface Variant {
  readonly fifo: boolean;
  readonly expiry: StoreGuarantees['expiry'];
  /** What a server that has lost its data has lost. */
  readonly tables: readonly string[];
  readonly maxConnections?: number;
}

const TABLE = 'conformance_table';
const variants: Record<'table' | 'row' | 'advisory', Variant> = {
  table: {
    fifo: true,
    expiry: 'lease',
    tables: [`TABLE ${TABLE}`, `TABLE ${TABLE}_waiter`, `SEQUENCE ${TABLE}_fence`],
  },
  // Each of its locks takes a session.
  row: { fifo: false, expiry: 'connection', tables: [], maxConnections: 120 },
  advisory: { fifo: true, expiry: 'connection', tables: [] },
};

// Before the server is started: a wrong name must leave nothing running.
const chosen = chosenVariants(variants);
const backend = await PostgresBackend.start();
afterAll(() => backend.stop());

describe.each(chosen)('%s', (name, { fifo, expiry, tables, maxConnections }) => {
  const mode = name as keyof typeof variants;
  storeConformance('postgres', {
    createStore: () =>
      postgresStore({
        connection: backend.url,
        mode,
        table: `conformance_${mode}`,
        commandTimeout: '500ms',
        connectTimeout: '1s',
        keepAlive: '1s',
        ...(maxConnections === undefined ? {} : { maxConnections }),
      }),
    guarantees: {
      ownership: true,
      fencing: 'global',
      survivesFailover: false,
      fifo,
      reach: 'network',
      expiry,
      wakeUp: 'push',
    },
    hooks: backend.hooks(tables),
  });
});
