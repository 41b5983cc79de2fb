/** How the store locks: see {@link MysqlStoreOptions.mode}. */
export const MYSQL_MODES = ['table', 'row', 'named'] as const;
export type MysqlMode = (typeof MYSQL_MODES)[number];
