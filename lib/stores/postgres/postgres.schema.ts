import { postgresNames, type PostgresMode, type PostgresStoreOptions } from './postgres.options.js';
import type { LockTables } from '../sql/table-names.js';

/** The names of the tables, quoted, and within their schema where there is one. */
export function qualified(tables: LockTables, schema: string | undefined): LockTables {
  const within = schema === undefined ? '' : `"${schema}".`;
  const quote = (name: string): string => `${within}"${name}"`;
  const { lock, waiter, waiterIndex, fence, row } = tables;
  // An index is in its table's schema by itself.
  return { lock: quote(lock), waiter: quote(waiter), waiterIndex, fence: quote(fence), row: quote(row) };
}

interface Relation {
  readonly name: string;
  /** Statements of PL/pgSQL. */
  readonly create: string;
}

function relationsOf(tables: LockTables, schema: string | undefined, mode: PostgresMode): Relation[] {
  const { lock, waiter, fence, row } = qualified(tables, schema);
  // Starts at the present time in µs: tokens increase also over a table that was dropped and made again.
  const sequence: Relation = {
    name: fence,
    create: `EXECUTE 'CREATE SEQUENCE IF NOT EXISTS ${fence} START WITH ' || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;`,
  };
  const locks: Relation = {
    name: lock,
    // Room on each page keeps renewals from touching the index.
    create: `CREATE TABLE IF NOT EXISTS ${lock} (
        id bytea PRIMARY KEY,
        key text NOT NULL,
        owner text NOT NULL,
        label text NOT NULL,
        acquired_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      ) WITH (fillfactor = 70);`,
  };
  const waiters: Relation = {
    name: waiter,
    create: `CREATE TABLE IF NOT EXISTS ${waiter} (
        ticket bigint GENERATED ALWAYS AS IDENTITY,
        id bytea NOT NULL,
        owner text PRIMARY KEY,
        expires_at timestamptz NOT NULL
      ) WITH (fillfactor = 70);
      CREATE INDEX IF NOT EXISTS "${tables.waiterIndex}" ON ${waiter} (id, ticket);`,
  };
  const rows: Relation = {
    name: row,
    create: `CREATE TABLE IF NOT EXISTS ${row} (id bytea PRIMARY KEY, key text NOT NULL);`,
  };
  if (mode === 'table') return [sequence, locks, waiters];
  return mode === 'row' ? [sequence, rows] : [sequence];
}

/** One statement that makes what is missing. Processes that do so at once take turns. */
export function schemaOf(tables: LockTables, schema: string | undefined, mode: PostgresMode): string {
  const relations = relationsOf(tables, schema, mode);
  const missing = relations.map(({ name }) => `to_regclass('${name}') IS NULL`).join(' OR ');
  // Asked for first, since IF NOT EXISTS alone needs the right to create even where there is nothing to do.
  return `DO $lock$
BEGIN
  IF ${missing} THEN
    PERFORM pg_advisory_xact_lock(hashtext('nestjs-distributed-lock schema'));
${relations.map(({ create }) => `    ${create}`).join('\n')}
  END IF;
END
$lock$`;
}

/**
 * The statement that creates what a mode needs, for those who create tables by migrations and set `createTable: false`. It
 * may be run any number of times.
 *
 * The store's role needs SELECT, INSERT, UPDATE and DELETE on the tables, and USAGE on the sequence.
 *
 * @throws LockOptionsError when a name is not a plain identifier
 */
export function postgresSchema(options: Pick<PostgresStoreOptions, 'mode' | 'table' | 'schema'> = {}): string {
  const { tables, schema } = postgresNames(options);
  return `${schemaOf(tables, schema, options.mode ?? 'table')};\n`;
}
