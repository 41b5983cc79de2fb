import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import { lockTables, type LockTables } from '../sql/table-names.js';
import { poolProblem, poolSize, type PgConfig, type PgPool } from './postgres.client.js';

export type PostgresMode = 'table' | 'row' | 'advisory';

/** How to reach PostgreSQL (12 or later): exactly one of `pool` and `connection`. */
export interface PostgresStoreOptions {
  /**
   * A `Pool` of pg 8. It stays yours and is never closed. The store takes sessions of its own from it, never the one of
   * your transaction: leave room for them (see `maxConnections`).
   */
  readonly pool?: PgPool | undefined;
  /** A URL such as `postgres://user:password@host:5432/database`, or pg's own options. The store makes a pool and closes it. */
  readonly connection?: string | URL | PgConfig | undefined;
  /**
   * `'table'`: a lease in a table. `'row'`: a row locked by a transaction on a session of its own. `'advisory'`:
   * `pg_advisory_lock` on sessions that several locks share. @default 'table'
   */
  readonly mode?: PostgresMode | undefined;
  /**
   * The lock table; its companions are called `<table>_waiter`, `<table>_fence` and `<table>_row`. Stores share locks when
   * they share it, and the mode; advisory locks have no table and are shared by the whole database. @default 'distributed_lock'
   */
  readonly table?: string | undefined;
  /**
   * The schema of the tables. Default: the first of the `search_path` that has them, or else the first that there is; the
   * `search_path` that sessions begin with, not what was SET on one of them later. Looked up once, at start.
   */
  readonly schema?: string | undefined;
  /** Whether missing tables are created. When `false`, create them by what `postgresSchema()` gives. @default true */
  readonly createTable?: boolean | undefined;
  /** The channel on which releases are announced to waiting processes (mode `table`). Default: the table's name. */
  readonly channel?: string | undefined;
  /** How long one statement may take before the server counts as unavailable. @default '1s' */
  readonly commandTimeout?: Duration | undefined;
  /** How long a connection may take, or a wait for one of the pool. @default '5s' */
  readonly connectTimeout?: Duration | undefined;
  /**
   * Mode `table`: how often a waiting process looks by itself. It is woken by a notification; this bounds what a lost one
   * costs, and a quarter of how long a killed waiter holds up those behind it. @default '500ms'
   */
  readonly pollInterval?: Duration | undefined;
  /**
   * How often a session that holds something, or listens (mode `table`), is asked for a sign of life; when none comes in
   * as long again, it is given up and its locks are lost. The server ends one that it has not heard of for a minute, or
   * six times as long as this. @default '5s'
   */
  readonly keepAlive?: Duration | undefined;
  /**
   * Modes `row` and `advisory`: how many sessions held locks and waits may take. One lock takes one (`row`), or shares one
   * with others (`advisory`); a wait takes one. Past it: LockUnavailableError. A pool of yours must have some more.
   * @default 10, or one less than your pool's `max`
   */
  readonly maxConnections?: number | undefined;
}

export interface PostgresSettings {
  readonly source: { readonly pool: PgPool } | { readonly config: PgConfig };
  /** Host, port and database, for messages. */
  readonly address: string;
  readonly mode: PostgresMode;
  readonly tables: LockTables;
  readonly schema: string | undefined;
  readonly createTable: boolean;
  readonly channel: string;
  /** ms, like the others. */
  readonly commandTimeout: number;
  readonly connectTimeout: number;
  readonly pollInterval: number;
  readonly keepAlive: number;
  /** ms after which the server ends a session that holds something and gives no sign of life. */
  readonly silence: number;
  readonly maxConnections: number;
  /** Whether there is room for a session that listens. */
  readonly listens: boolean;
}

const PLACE = 'postgresStore';
const MODES: readonly unknown[] = ['table', 'row', 'advisory'];
const SHORTEST_SILENCE = 60_000;
/** Options that do nothing in other modes. */
const ONLY_IN: Partial<Record<keyof PostgresStoreOptions, { readonly modes: PostgresMode[]; readonly hint?: string }>> =
  {
    channel: { modes: ['table'] },
    pollInterval: { modes: ['table'] },
    maxConnections: { modes: ['row', 'advisory'], hint: "; the size of a pool is the pool's own max" },
  };
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const KNOWN: Record<keyof PostgresStoreOptions, true> = {
  pool: true,
  connection: true,
  mode: true,
  table: true,
  schema: true,
  createTable: true,
  channel: true,
  commandTimeout: true,
  connectTimeout: true,
  pollInterval: true,
  keepAlive: true,
  maxConnections: true,
};

/** @throws LockOptionsError */
export function postgresSettings(options: PostgresStoreOptions): PostgresSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw wrong(`the options are ${show(options)}, but must be an object with a pool or a connection`);
  }
  refuseUnknown(options, PLACE, Object.keys(KNOWN));
  const { mode = 'table', createTable = true } = options;
  if (!MODES.includes(mode)) throw wrong(`mode is ${show(mode)}, but must be 'table', 'row' or 'advisory'`);
  if (typeof createTable !== 'boolean') throw wrong(`createTable is ${show(createTable)}, but must be true or false`);
  refuseOthers(options, mode);
  const duration = (name: 'commandTimeout' | 'connectTimeout' | 'pollInterval' | 'keepAlive', ms: number): number =>
    parseDuration(options[name] ?? ms, { min: 10 }, name, PLACE);
  const names = postgresNames(options);
  const { pool, connection } = options;
  // Its own pool is made from the connection; a URL has no max.
  const size = poolSize(pool ?? { options: Object(connection) as object });
  if (mode !== 'table' && size < 2) {
    throw wrong(`mode '${mode}' needs a pool of at least 2: a session to hold with, and one to ask with`);
  }
  const maxConnections = connectionsOf(options.maxConnections, size);
  const keepAlive = duration('keepAlive', 5_000);
  return {
    ...sourceOf(options, mode === 'table' ? 10 : maxConnections + 2),
    ...names,
    mode,
    createTable,
    channel: identifier(options.channel ?? names.tables.lock, 'channel'),
    commandTimeout: duration('commandTimeout', 1_000),
    connectTimeout: duration('connectTimeout', 5_000),
    pollInterval: duration('pollInterval', 500),
    keepAlive,
    silence: Math.max(SHORTEST_SILENCE, 6 * keepAlive),
    maxConnections,
    // It takes a session of the pool for as long as anybody waits.
    listens: size > 1,
  };
}

/** @throws LockOptionsError */
export function postgresNames({ table, schema }: Pick<PostgresStoreOptions, 'table' | 'schema'>): {
  readonly tables: LockTables;
  readonly schema: string | undefined;
} {
  return {
    tables: lockTables(table ?? 'distributed_lock', PLACE),
    schema: schema === undefined ? undefined : identifier(schema, 'schema'),
  };
}

function identifier(value: unknown, name: string): string {
  if (typeof value === 'string' && IDENTIFIER.test(value)) return value;
  throw wrong(
    `${name} is ${show(value)}, but must be a plain identifier: ` +
      'a letter or underscore, then letters, digits or underscores, 63 characters at most',
  );
}

function refuseOthers(options: PostgresStoreOptions, mode: PostgresMode): void {
  for (const [name, { modes, hint = '' }] of Object.entries(ONLY_IN)) {
    if (options[name as keyof PostgresStoreOptions] === undefined || modes.includes(mode)) continue;
    throw wrong(`${name} is for mode ${modes.map(show).join(' or ')}, and does nothing in mode '${mode}'${hint}`);
  }
}

function connectionsOf(maxConnections: unknown, max: number): number {
  if (maxConnections === undefined) return Math.max(1, Math.min(10, max - 1));
  if (typeof maxConnections !== 'number' || !Number.isSafeInteger(maxConnections) || maxConnections < 1) {
    throw wrong(`maxConnections is ${show(maxConnections)}, but must be a whole number of at least 1`);
  }
  if (maxConnections < max) return maxConnections;
  throw wrong(
    `maxConnections is ${maxConnections}, but must be less than the pool's max (${max}): ` +
      'the store needs a session to ask with while the others hold and wait',
  );
}

/** Never shows what it was given: it has the password in it. */
function sourceOf(
  { pool, connection }: PostgresStoreOptions,
  max: number,
): Pick<PostgresSettings, 'source' | 'address'> {
  if ((pool === undefined) === (connection === undefined)) {
    throw wrong(
      `${pool === undefined ? 'neither pool nor connection is' : 'both pool and connection are'} given. Give one`,
    );
  }
  if (pool !== undefined) {
    const problem = poolProblem(pool);
    if (problem) throw wrong(`pool is ${problem}, but must be a Pool of pg 8`);
    return { source: { pool }, address: addressOf({ ...pool.options }) };
  }
  const own = { max, keepAlive: true };
  if (typeof connection === 'string' || connection instanceof URL) {
    const text = String(connection);
    if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) {
      throw wrong('connection is not a URL such as postgres://user:password@host:5432/database');
    }
    const config = { ...own, connectionString: text };
    return { source: { config }, address: addressOf(config) };
  }
  if (typeof connection !== 'object' || (connection as unknown) === null) {
    throw wrong(`connection is ${typeof connection}, but must be a URL or an object with pg's options`);
  }
  return { source: { config: { ...own, ...connection } }, address: addressOf(connection) };
}

function addressOf(config: PgConfig): string {
  const text = config['connectionString'];
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  const part = (value: unknown, other: string): string =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : other;
  const host = part(url?.hostname ?? config['host'], 'localhost');
  const port = part(url?.port ?? config['port'], '5432') || '5432';
  const database = part(url?.pathname.slice(1) ?? config['database'], '');
  return `${host}:${port}${database && `/${database}`}`;
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`${PLACE}: ${problem}.`);
}
