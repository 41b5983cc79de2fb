import type { LockStore } from '../../contract/index.js';
import { SessionStore } from '../sql/session/session.store.js';
import { TableStore } from '../sql/table/table.store.js';
import { catchUp } from './catch-up.js';
import { MysqlDriver } from './mysql.driver.js';
import { readMysqlOptions, type MysqlStoreOptions } from './mysql-store.options.js';
import { NamedDialect } from './named.dialect.js';
import { RowDialect } from './row.dialect.js';
import { mysqlTable } from './table.dialect.js';

/**
 * Locks in MySQL 8 or MariaDB 10.11, in one of three ways: see {@link MysqlStoreOptions.mode}.
 *
 * @throws LockOptionsError when an option is wrong
 */
export function mysqlStore(options: MysqlStoreOptions): LockStore {
  const settings = readMysqlOptions(options);
  const driver = new MysqlDriver(settings);
  const { address } = driver;
  const { mode, tables, keepAlive, createTable } = settings;
  const sessions = { address, keepAlive, createTable };
  switch (mode) {
    case 'table': {
      const dialect = mysqlTable(tables, address);
      const { claim, release } = dialect.statements;
      for (const { text } of [claim, release]) driver.prepared.add(text);
      driver.greeting = catchUp(tables);
      return new TableStore(dialect, driver, { ...settings, fastPollInterval: settings.pollInterval });
    }
    case 'row':
      return new SessionStore(new RowDialect(tables, sessions), driver, settings);
    case 'named':
      return new SessionStore(new NamedDialect(tables, sessions), driver, settings);
  }
}
