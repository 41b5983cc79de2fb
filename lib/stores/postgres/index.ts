export type { PgClient, PgConfig, PgPool, PgResult } from './postgres.client.js';
export type { PostgresMode, PostgresStoreOptions } from './postgres.options.js';
export { postgresSchema } from './postgres.schema.js';
export { postgresStore } from './postgres.store.js';
