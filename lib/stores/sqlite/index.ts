export type { SqliteDatabase, SqliteDriver, SqliteDriverName, SqliteStatement } from './sqlite.driver.js';
export { sqliteSchema } from './sqlite.schema.js';
export { sqliteStore } from './sqlite.store.js';
export type { SqliteStoreOptions } from './sqlite-store.options.js';
