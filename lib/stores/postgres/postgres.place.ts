import { LockOptionsError, LockUnavailableError } from '../../errors/index.js';
import { notOpenError } from '../shared/store-state.js';
import type { SqlPool } from '../sql/sql.connection.js';
import type { LockTables } from '../sql/table-names.js';
import { READ_ONLY } from './postgres.errors.js';
import type { PostgresSettings } from './postgres.options.js';
import { qualified } from './postgres.schema.js';

/** What has to be escaped in one of the places where names stand, and therefore stands in none. */
const AWKWARD = /["'\\$@\0]/;

/**
 * In which schema the tables stand: where they are, or else may be, by the `search_path` that sessions begin with. What
 * somebody has SET on a session of the pool before does not count, since another session would lead elsewhere.
 */
export class PgPlace {
  #schema: string | undefined;
  #names: LockTables | undefined;
  #settled = false;

  constructor(private readonly settings: PostgresSettings) {
    if (settings.schema !== undefined) this.#take(settings.schema);
  }

  get schema(): string {
    if (this.#schema === undefined) throw notOpenError('postgres');
    return this.#schema;
  }

  /** Quoted, and within their schema. */
  get names(): LockTables {
    if (this.#names === undefined) throw notOpenError('postgres');
    return this.#names;
  }

  /** @throws LockOptionsError when there is no such schema; LockUnavailableError when the server is read-only */
  async find(pool: SqlPool): Promise<void> {
    const { connectTimeout, commandTimeout, address } = this.settings;
    const connection = await pool.connect(connectTimeout);
    try {
      const { rows } = await connection.query(this.#question(), [], commandTimeout);
      const { schema, read_only: readOnly } = rows[0] ?? {};
      if (readOnly === 'on') throw new LockUnavailableError(`PostgreSQL at ${address} cannot be used: ${READ_ONLY}`);
      if (this.settings.schema === undefined && !this.#settled) this.#take(this.#usable(schema));
    } finally {
      connection.release();
    }
  }

  /** The tables are there: they stay where they are, whatever the `search_path` becomes. */
  settle(): void {
    this.#settled = true;
  }

  // One statement, which needs no transaction: what is set in it for itself ends with it. CASE is evaluated in order.
  #question(): string {
    const { fence } = qualified(this.settings.tables, undefined);
    return `SELECT current_setting('transaction_read_only') AS read_only,
      CASE WHEN set_config('search_path', reset_val, true) IS NOT NULL THEN COALESCE(
        (SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
          WHERE pg_class.oid = to_regclass('${fence}')),
        current_schema()
      )::text END AS schema
      FROM pg_settings WHERE name = 'search_path'`;
  }

  #usable(schema: unknown): string {
    if (typeof schema !== 'string') {
      throw new LockOptionsError(
        `postgresStore: no schema of the search_path at ${this.settings.address} exists and may be used. ` +
          'Say where the tables belong: postgresStore({ schema }).',
      );
    }
    if (!AWKWARD.test(schema)) return schema;
    throw new LockOptionsError(
      `postgresStore: by the search_path the tables would belong to the schema ${schema}, whose name is no ` +
        'plain identifier. Create one for them, and name it: postgresStore({ schema }).',
    );
  }

  #take(schema: string): void {
    this.#schema = schema;
    this.#names = qualified(this.settings.tables, schema);
  }
}
