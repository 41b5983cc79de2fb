export type { MysqlPool } from './mysql.client.js';
export type { MysqlMode } from './mysql.modes.js';
export { mysqlSchema, type MysqlSchemaOptions } from './mysql.schema.js';
export { mysqlStore } from './mysql.store.js';
export type { MysqlStoreOptions } from './mysql-store.options.js';
