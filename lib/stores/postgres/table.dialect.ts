import type { LockError } from '../../errors/index.js';
import type { SqlPool, SqlResult } from '../sql/sql.connection.js';
import type { Lease, RunSql, TableDialect, TableStatements } from '../sql/table/table.dialect.js';
import { isConflict, isMissingTable, toLockError } from './postgres.errors.js';
import { GUARANTEES } from './postgres.guarantees.js';
import type { PostgresSettings } from './postgres.options.js';
import { PgPlace } from './postgres.place.js';
import { probe } from './postgres.probe.js';
import { schemaOf } from './postgres.schema.js';
import { renewal, tableStatements } from './postgres.table.js';

/** A lock table as PostgreSQL has it. */
export class PostgresTableDialect implements TableDialect {
  readonly name = 'postgres';
  readonly guarantees = GUARANTEES.table;
  readonly claimDequeues = true;
  readonly isConflict = isConflict;
  readonly isMissingTable = isMissingTable;
  readonly #place: PgPlace;
  #made: { readonly statements: TableStatements; readonly renewal: string } | undefined;

  constructor(private readonly settings: PostgresSettings) {
    this.#place = new PgPlace(settings);
  }

  get schema(): readonly string[] {
    return [schemaOf(this.settings.tables, this.#place.schema, 'table')];
  }

  get statements(): TableStatements {
    return this.#texts.statements;
  }

  async check(pool: SqlPool): Promise<void> {
    await this.#place.find(pool);
    this.#made = undefined;
  }

  async probe(run: RunSql): Promise<void> {
    await probe(run, this.#place.names, this.settings);
    this.#place.settle();
  }

  readClaim({ rows }: SqlResult): bigint | undefined {
    return rows[0] && BigInt(rows[0]['fence'] as string);
  }

  wasLive({ rows }: SqlResult): boolean {
    return rows[0]?.['live'] === true;
  }

  async renew(run: RunSql, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
    const columns = [leases.map(({ id }) => id), leases.map(({ owner }) => owner), leases.map(({ ttl }) => ttl)];
    const { rows } = await run(this.#texts.renewal, columns);
    return new Set(rows.map((row) => row['owner'] as string));
  }

  toLockError(error: unknown): LockError {
    return toLockError(error, this.settings.address);
  }

  // Once it is known where the tables are.
  get #texts(): { readonly statements: TableStatements; readonly renewal: string } {
    if (this.#made) return this.#made;
    const { names } = this.#place;
    return (this.#made = { statements: tableStatements(names, this.settings.channel), renewal: renewal(names) });
  }
}
