import { LockOptionsError } from '../../errors/index.js';
import { show } from '../../options/duration.js';
import { lockTables } from '../sql/table-names.js';
import { catchUp } from './catch-up.js';
import { MYSQL_MODES, type MysqlMode } from './mysql.modes.js';
import { mysqlTables, ROLES, tableName, type MysqlTables, type TableRole } from './mysql.tables.js';

export interface MysqlSchemaOptions {
  /** The store's `mode` option. @default 'table' */
  readonly mode?: MysqlMode | undefined;
  /** The store's `table` option. @default 'distributed_lock' */
  readonly table?: string | undefined;
}

/**
 * The statements that create what the store needs, for those who create tables by migrations and set `createTable: false`.
 * They may be run any number of times. Run them one by one: a connection of mysql2 takes several at once only with `multipleStatements`.
 *
 * @returns one statement an element, without semicolons
 * @throws LockOptionsError when an option is wrong
 */
export function mysqlSchema({
  mode = 'table',
  table = 'distributed_lock',
}: MysqlSchemaOptions = {}): readonly string[] {
  const place = 'mysqlSchema()';
  const names = lockTables(table, place);
  if (!MYSQL_MODES.includes(mode)) {
    throw new LockOptionsError(`${place}: mode is ${show(mode)}, but must be one of '${MYSQL_MODES.join(`', '`)}'.`);
  }
  return schemaOf(mode, mysqlTables(names));
}

/**
 * One statement each.
 *
 * @param missing which tables are to be created; the others are there
 */
export function schemaOf(
  mode: MysqlMode,
  tables: MysqlTables,
  missing: readonly TableRole[] = ROLES[mode],
): readonly string[] {
  const create = missing.map((role) => creation(role, tables));
  if (mode !== 'table') return create;
  const firstTurn = `INSERT IGNORE INTO ${tables.fence} (id) VALUES (1)`;
  return [...create, firstTurn, ...(missing.includes('lock') ? catchUp(tables) : [])];
}

const OWNER = 'owner CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';

function creation(role: TableRole, tables: MysqlTables): string {
  // InnoDB, whatever the server's default: nothing else has row locks. Keys are compared by their hash alone.
  return `CREATE TABLE IF NOT EXISTS ${tables[role]} (
  ${definitions(role, tables).join(',\n  ')}
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4`;
}

function definitions(role: TableRole, { names }: MysqlTables): string[] {
  switch (role) {
    case 'lock':
      return [
        `id BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the key'`,
        `fence BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'fencing token'`,
        `lock_key VARCHAR(1000) NOT NULL COMMENT 'the key, for people to read'`,
        OWNER,
        'label VARCHAR(255) NOT NULL',
        `acquired_at DATETIME(6) NOT NULL COMMENT 'UTC'`,
        `expires_at DATETIME(6) NOT NULL COMMENT 'UTC'`,
        'KEY (fence)',
      ];
    case 'waiter':
      return [
        'ticket BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY',
        'id BINARY(32) NOT NULL',
        `${OWNER} UNIQUE`,
        `expires_at DATETIME(6) NOT NULL COMMENT 'UTC'`,
        `KEY \`${names.waiterIndex}\` (id, ticket)`,
      ];
    case 'fence':
      return [
        `id TINYINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'one row, which claims lock in turn'`,
        `queued_until DATETIME(6) NOT NULL DEFAULT '1970-01-01' COMMENT 'UTC; later there are no tickets'`,
      ];
    case 'hold':
    case 'named':
      return [
        'fence BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY',
        `id BINARY(32) NOT NULL COMMENT 'SHA-256 of the key'`,
        `lock_key VARCHAR(1000) NOT NULL COMMENT 'the key, for people to read'`,
        OWNER,
        'label VARCHAR(255) NOT NULL',
        'connection BIGINT UNSIGNED NOT NULL',
        `acquired_at DATETIME(6) NOT NULL COMMENT 'UTC'`,
        `KEY \`${tableName(names, role)}_key\` (id, fence)`,
      ];
    case 'row':
      return [
        `id BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the key'`,
        `lock_key VARCHAR(1000) NOT NULL COMMENT 'the key, for people to read'`,
        `created_at DATETIME(6) NOT NULL COMMENT 'UTC'`,
      ];
  }
}
