import { LockOptionsError } from '../../errors/index.js';
import { show } from '../../options/duration.js';
import { lockTables, type LockTables } from '../sql/table-names.js';
import { MYSQL_MODES, type MysqlMode } from './mysql.modes.js';
import { catchUp } from './catch-up.js';

export interface MysqlSchemaOptions {
  /** The store's `mode` option. @default 'table' */
  readonly mode?: MysqlMode | undefined;
  /** The store's `table` option. @default 'distributed_lock' */
  readonly table?: string | undefined;
}

/**
 * The statements that create what the store needs, for those who create tables by migrations and set `createTable: false`.
 * They may be run any number of times.
 *
 * @throws LockOptionsError when an option is wrong
 */
export function mysqlSchema({ mode = 'table', table = 'distributed_lock' }: MysqlSchemaOptions = {}): string {
  const place = 'mysqlSchema()';
  const names = lockTables(table, place);
  if (!MYSQL_MODES.includes(mode)) {
    throw new LockOptionsError(`${place}: mode is ${show(mode)}, but must be one of ${MYSQL_MODES.join(', ')}.`);
  }
  return schemaOf(mode, names)
    .map((statement) => `${statement};\n`)
    .join('\n');
}

/** One statement each. */
export function schemaOf(mode: MysqlMode, names: LockTables): string[] {
  switch (mode) {
    case 'table':
      return tableSchema(names);
    case 'row':
      return [holdTable(names), rowTable(names)];
    case 'named':
      return [holdTable(names)];
  }
}

/** The row of a key, which a transaction locks. Exists for as long as somebody wants it, and some minutes longer. */
export function rowName({ lock }: LockTables): string {
  return `${lock}_row`;
}

/** What a session tells of the locks that it holds. Draws the fencing tokens. */
export function holdName({ lock }: LockTables): string {
  return `${lock}_hold`;
}

// InnoDB, whatever the server's default: nothing else has row locks. Keys are compared by their hash alone.
const INNODB = 'ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4';
const OWNER = 'owner CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';

function tableSchema(names: LockTables): string[] {
  const { lock, waiter, waiterIndex, fence } = names;
  return [
    `CREATE TABLE IF NOT EXISTS \`${lock}\` (
  id BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the key',
  fence BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'fencing token',
  lock_key VARCHAR(1000) NOT NULL COMMENT 'the key, for people to read',
  ${OWNER},
  label VARCHAR(255) NOT NULL,
  acquired_at DATETIME(6) NOT NULL COMMENT 'UTC',
  expires_at DATETIME(6) NOT NULL COMMENT 'UTC',
  KEY (fence)
) ${INNODB}`,
    `CREATE TABLE IF NOT EXISTS \`${waiter}\` (
  ticket BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id BINARY(32) NOT NULL,
  ${OWNER} UNIQUE,
  expires_at DATETIME(6) NOT NULL COMMENT 'UTC',
  KEY \`${waiterIndex}\` (id, ticket)
) ${INNODB}`,
    `CREATE TABLE IF NOT EXISTS \`${fence}\` (
  id TINYINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'one row, which claims lock in turn'
) ${INNODB}`,
    `INSERT IGNORE INTO \`${fence}\` (id) VALUES (1)`,
    ...catchUp(names),
  ];
}

function holdTable(names: LockTables): string {
  const name = holdName(names);
  return `CREATE TABLE IF NOT EXISTS \`${name}\` (
  fence BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id BINARY(32) NOT NULL COMMENT 'SHA-256 of the key',
  lock_key VARCHAR(1000) NOT NULL COMMENT 'the key, for people to read',
  ${OWNER},
  label VARCHAR(255) NOT NULL,
  connection BIGINT UNSIGNED NOT NULL,
  acquired_at DATETIME(6) NOT NULL COMMENT 'UTC',
  KEY \`${name}_key\` (id, fence)
) ${INNODB}`;
}

function rowTable(names: LockTables): string {
  return `CREATE TABLE IF NOT EXISTS \`${rowName(names)}\` (
  id BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the key',
  lock_key VARCHAR(1000) NOT NULL COMMENT 'the key, for people to read',
  created_at DATETIME(6) NOT NULL COMMENT 'UTC'
) ${INNODB}`;
}
