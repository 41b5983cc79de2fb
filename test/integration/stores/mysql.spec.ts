import { afterAll, describe } from '@jest/globals';
import { mysqlStore, type MysqlMode } from '../../../lib/stores/mysql/index.js';
import type { StoreGuarantees } from '../../../lib/contract/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { MariadbBackend } from '../../support/mariadb-backend.js';
import { chosenVariants } from '../../support/variants.js';

const session: StoreGuarantees = {
  ownership: true,
  fencing: 'global',
  survivesFailover: false,
  fifo: false,
  reach: 'network',
  expiry: 'connection',
  wakeUp: 'push',
};

const variants: Record<MysqlMode, StoreGuarantees> = {
  table: { ...session, fifo: true, expiry: 'lease', wakeUp: 'poll' },
  row: session,
  named: session,
};

// Before the server is started: a wrong name must leave nothing running.
const chosen = chosenVariants(variants);
const backend = await MariadbBackend.start();
afterAll(() => backend.stop());

describe.each(chosen)('%s', (mode, guarantees) => {
  const table = `conformance_${mode}`;

  storeConformance('mysql', {
    createStore: () =>
      mysqlStore({
        connection: backend.url,
        mode: mode as MysqlMode,
        table,
        commandTimeout: '500ms',
        connectTimeout: '1s',
        ...(mode === 'table' ? {} : { keepAlive: '1s' }),
        // The suite holds dozens of keys at once.
        maxConnections: 60,
      }),
    guarantees,
    hooks: backend.hooks(table),
  });
});
