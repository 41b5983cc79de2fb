import { afterAll, describe } from '@jest/globals';
import { mysqlStore, type MysqlMode } from '../../../lib/stores/mysql/index.js';
import type { StoreGuarantees } from '../../../lib/contract/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { MariadbBackend } from '../../support/mariadb-backend.js';
import { chosenVariants } from '../../support/variants.js';

const backend = await MariadbBackend.start();
afterAll(() => backend.stop());

const session: StoreGuarantees = {
  ownership: true,
  fencing: 'global',
  survivesFailover: false,
  fifo: false,
  reach: 'network',
  expiry: 'session',
  wakeUp: 'push',
};

const variants: Record<MysqlMode, StoreGuarantees> = {
  table: { ...session, fifo: true, expiry: 'lease', wakeUp: 'poll' },
  row: session,
  named: session,
};

describe.each(chosenVariants(variants))('%s', (mode, guarantees) => {
  const table = `conformance_${mode}`;

  storeConformance('mysql', {
    createStore: () =>
      mysqlStore({
        connection: backend.url,
        mode: mode as MysqlMode,
        table,
        commandTimeout: '500ms',
        connectTimeout: '1s',
        keepAlive: '1s',
        // The suite holds dozens of keys at once.
        maxConnections: 60,
      }),
    guarantees,
    hooks: backend.hooks(table),
  });
});
