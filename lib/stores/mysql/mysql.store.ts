import type { LockStore } from '../../contract/index.js';
import { SessionStore } from '../sql/session/session.store.js';
import { TableStore } from '../sql/table/table.store.js';
import { MysqlDriver } from './mysql.driver.js';
import { MysqlPlace } from './mysql.place.js';
import { readMysqlOptions, type MysqlStoreOptions } from './mysql-store.options.js';
import { NamedDialect } from './named.dialect.js';
import { RowDialect } from './row.dialect.js';
import { LeaseDialect } from './table.dialect.js';

/**
 * Locks in MySQL 8 or MariaDB 10.11, in one of three ways: see {@link MysqlStoreOptions.mode}.
 *
 * @throws LockOptionsError when an option is wrong
 */
export function mysqlStore(options: MysqlStoreOptions): LockStore {
  const settings = readMysqlOptions(options);
  const driver = new MysqlDriver(settings);
  const place = new MysqlPlace(settings, driver);
  switch (settings.mode) {
    case 'table': {
      const timing = { ...settings, fastPollInterval: settings.pollInterval };
      return new TableStore(new LeaseDialect(place, driver), driver, timing);
    }
    case 'row':
      return new SessionStore(new RowDialect(place, settings), driver, settings);
    case 'named':
      return new SessionStore(new NamedDialect(place, settings), driver, settings);
  }
}
