import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import { lockTables, type LockTables } from '../sql/table-names.js';
import { readMaxConnections } from './max-connections.js';
import { poolProblem, type MysqlPool } from './mysql.client.js';
import { MYSQL_MODES, type MysqlMode } from './mysql.modes.js';
import { refuseOthers } from './options-of-modes.js';

/** How to reach the server (exactly one of `pool` and `connection`), and how to lock there. */
export interface MysqlStoreOptions {
  /**
   * A pool of your own: `mysql.createPool(…)` of mysql2 3, in its promise or its callback form. It stays yours: it is never
   * closed, and its sessions come back as they were. Give it room for the sessions that the store takes, see {@link maxConnections}.
   * The tables are in the database that it is configured with, or else in the one that its session has selected at the start, and stay there.
   */
  readonly pool?: MysqlPool | undefined;
  /**
   * `mysql://user:password@host:3306/database`, or what mysql2's `createPool()` takes. The store makes a pool of its own,
   * and closes it at shutdown.
   */
  readonly connection?: string | URL | Readonly<Record<string, unknown>> | undefined;
  /**
   * How locks are kept.
   *
   * - `'table'`: a row is a lease that ends by the server's clock unless it is renewed. Takes a session only for the length of a statement.
   * - `'row'`: a transaction holds a row by `SELECT … FOR UPDATE`, on a session of its own for as long as the lock is held.
   * - `'named'`: `GET_LOCK()`. Several locks share a session.
   *
   * @default 'table'
   */
  readonly mode?: MysqlMode | undefined;
  /** What the tables' names begin with. Processes share locks when they share it. @default 'distributed_lock' */
  readonly table?: string | undefined;
  /** Whether missing tables are created. When `false`, create them by what `mysqlSchema()` gives. @default true */
  readonly createTable?: boolean | undefined;
  /** How long one statement may take before the server counts as unavailable. @default '1s' */
  readonly commandTimeout?: Duration | undefined;
  /** How long a connection may take to be there, also in the queue of a pool that is fully in use. @default '5s' */
  readonly connectTimeout?: Duration | undefined;
  /** `table`: how often the first in a queue looks whether the key has become free. @default '20ms' */
  readonly pollInterval?: Duration | undefined;
  /**
   * `row` and `named`: after how long without a word a session that holds something is asked for a sign of life, and how long it
   * has to give one. @default '5s'
   */
  readonly keepAlive?: Duration | undefined;
  /**
   * `row` and `named`: how many sessions held locks and waits may take: in `row` mode one for each lock and each wait, in `named` mode one
   * for each wait and some that all locks share. Besides these, two are taken now and then for the length of a statement. In `table`
   * mode the size of the store's own pool. @default 10, or two less than your pool's `connectionLimit`
   */
  readonly maxConnections?: number | undefined;
}

export interface MysqlSettings {
  readonly source: { readonly pool: MysqlPool } | { readonly connection: Record<string, unknown> };
  readonly mode: MysqlMode;
  readonly tables: LockTables;
  readonly createTable: boolean;
  /** ms, like the others. */
  readonly commandTimeout: number;
  readonly connectTimeout: number;
  readonly pollInterval: number;
  readonly keepAlive: number;
  readonly maxConnections: number;
}

const PLACE = 'mysqlStore';
const KNOWN: Record<keyof MysqlStoreOptions, true> = {
  pool: true,
  connection: true,
  mode: true,
  table: true,
  createTable: true,
  commandTimeout: true,
  connectTimeout: true,
  pollInterval: true,
  keepAlive: true,
  maxConnections: true,
};

/** @throws LockOptionsError naming the option that is wrong */
export function readMysqlOptions(options: MysqlStoreOptions): MysqlSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw new LockOptionsError(
      `${PLACE}: the options are ${show(options)}, but must be an object with a pool or a connection.`,
    );
  }
  refuseUnknown(options, PLACE, Object.keys(KNOWN));
  const { mode = 'table', table = 'distributed_lock', createTable = true } = options;
  check(MYSQL_MODES.includes(mode), 'mode', mode, `one of '${MYSQL_MODES.join(`', '`)}'`);
  check(typeof createTable === 'boolean', 'createTable', createTable, 'true or false');
  refuseOthers(options, mode, PLACE);
  const source = readSource(options);
  const duration = (
    name: 'commandTimeout' | 'connectTimeout' | 'pollInterval' | 'keepAlive',
    ms: number,
    min: number,
  ) => parseDuration(options[name] ?? ms, { min }, name, PLACE);
  return {
    source,
    mode,
    tables: lockTables(table, PLACE),
    createTable,
    commandTimeout: duration('commandTimeout', 1_000, 10),
    connectTimeout: duration('connectTimeout', 5_000, 10),
    pollInterval: duration('pollInterval', 20, 1),
    keepAlive: duration('keepAlive', 5_000, 100),
    maxConnections: readMaxConnections(options.maxConnections, mode, source),
  };
}

function readSource({ pool, connection }: MysqlStoreOptions): MysqlSettings['source'] {
  if ((pool === undefined) === (connection === undefined)) {
    const problem = pool === undefined ? 'neither pool nor connection is' : 'both pool and connection are';
    throw new LockOptionsError(`${PLACE}: ${problem} given. Give one.`);
  }
  if (pool === undefined) return { connection: readConnection(connection) };
  const problem = poolProblem(pool);
  if (problem === undefined) return { pool };
  throw new LockOptionsError(`${PLACE}: pool is ${problem}, but must be a pool of mysql2: mysql.createPool(…).`);
}

// Never shows what it was given: there is a password in it.
function readConnection(connection: unknown): Record<string, unknown> {
  if (typeof connection === 'string' || connection instanceof URL) {
    const text = String(connection);
    const protocol = URL.canParse(text) ? new URL(text).protocol : undefined;
    if (protocol === 'mysql:' || protocol === 'mariadb:') return { uri: text.replace(/^mariadb:/i, 'mysql:') };
    throw new LockOptionsError(
      `${PLACE}: connection is not a URL that begins with 'mysql:'. It must look like mysql://user:password@host:3306/database.`,
    );
  }
  check(typeof connection === 'object' && connection !== null, 'connection', connection, 'a URL or an object');
  return { ...(connection as Record<string, unknown>) };
}

function check(valid: boolean, name: string, value: unknown, rule: string): void {
  if (!valid) throw new LockOptionsError(`${PLACE}: ${name} is ${show(value)}, but must be ${rule}.`);
}
