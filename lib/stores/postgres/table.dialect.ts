import type { LockError } from '../../errors/index.js';
import type { SqlResult } from '../sql/sql.connection.js';
import type { Lease, RunSql, TableDialect } from '../sql/table/table.dialect.js';
import { isConflict, isMissingTable, toLockError } from './postgres.errors.js';
import { GUARANTEES } from './postgres.guarantees.js';
import type { PostgresSettings } from './postgres.options.js';
import { qualified, schemaOf } from './postgres.schema.js';
import { renewal, tableStatements } from './postgres.table.js';

/** A lock table as PostgreSQL has it. */
export class PostgresTableDialect implements TableDialect {
  readonly name = 'postgres';
  readonly guarantees = GUARANTEES.table;
  readonly claimDequeues = true;
  readonly schema: readonly string[];
  readonly statements: TableDialect['statements'];
  readonly isConflict = isConflict;
  readonly isMissingTable = isMissingTable;
  readonly #renewal: string;

  constructor(private readonly settings: PostgresSettings) {
    const { tables, schema, channel } = settings;
    const names = qualified(tables, schema);
    this.schema = [schemaOf(tables, schema, 'table')];
    this.statements = tableStatements(names, channel);
    this.#renewal = renewal(names);
  }

  readClaim({ rows }: SqlResult): bigint | undefined {
    return rows[0] && BigInt(rows[0]['fence'] as string);
  }

  wasLive({ rows }: SqlResult): boolean {
    return rows[0]?.['live'] === true;
  }

  async renew(run: RunSql, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
    const columns = [leases.map(({ id }) => id), leases.map(({ owner }) => owner), leases.map(({ ttl }) => ttl)];
    const { rows } = await run(this.#renewal, columns);
    return new Set(rows.map((row) => row['owner'] as string));
  }

  toLockError(error: unknown): LockError {
    return toLockError(error, this.settings.address);
  }
}
