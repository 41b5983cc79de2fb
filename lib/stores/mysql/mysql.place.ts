import { LockOptionsError } from '../../errors/index.js';
import { engineProblem, engineQuery } from '../sql/innodb.js';
import { notOpenError } from '../shared/store-state.js';
import type { SqlPool } from '../sql/sql.connection.js';
import type { RunSql } from '../sql/table/table.dialect.js';
import { findDatabase } from './mysql.database.js';
import { schemaOf } from './mysql.schema.js';
import { mysqlTables, ROLES, tableName, type MysqlTables, type TableRole } from './mysql.tables.js';
import type { MysqlSettings } from './mysql-store.options.js';
import { probe } from './table-probes.js';

/** A pool that may know what its sessions select, once it is made. */
export interface MysqlSessions extends SqlPool {
  readonly database: string | undefined;
}

/** Where the tables are, which is found out at the start for all sessions, and what is still missing there. */
export class MysqlPlace {
  #database: string | undefined;
  #tables: MysqlTables | undefined;
  /** Its tables were there: it stays the same, whatever the sessions select. */
  #settled: string | undefined;
  #missing: readonly TableRole[] | undefined;

  constructor(
    private readonly settings: MysqlSettings,
    private readonly sessions: MysqlSessions,
  ) {}

  get address(): string {
    return this.sessions.address;
  }

  get tables(): MysqlTables {
    if (this.#tables === undefined) throw notOpenError('mysql');
    return this.#tables;
  }

  /** At the start only what is missing: the server asks for the right to create also where there is nothing to do. */
  get schema(): readonly string[] {
    const { mode } = this.settings;
    return schemaOf(mode, this.tables, this.#missing ?? ROLES[mode]);
  }

  /** @throws LockOptionsError when there is no database, a table is of the wrong kind, or is missing and not to be made */
  async find(): Promise<void> {
    const { connectTimeout, commandTimeout, tables, mode, createTable } = this.settings;
    const connection = await this.sessions.connect(connectTimeout);
    const ask: RunSql = (text, params) => connection.query(text, params, commandTimeout);
    try {
      // Its answer says whether the session is within a transaction, which a CREATE would end.
      await ask('DO 0', []);
      const database = this.#settled ?? (await findDatabase(ask, this.sessions.database));
      this.#database = database;
      this.#tables = mysqlTables(tables, database);
      this.#missing = await this.#missingIn(database, ask);
    } finally {
      connection.release();
    }
    if (createTable || this.#missing.length === 0) return;
    throw new LockOptionsError(
      `mysqlStore: in the database '${this.#database}' at ${this.address} there is no table ${this.#list(this.#missing)} that this ` +
        `user may use. Run what mysqlSchema({ mode: '${mode}', table: '${tables.lock}' }) gives as a migration and grant the rights ` +
        'to it, or let the store make it (createTable: true).',
    );
  }

  /**
   * Tries, once all is made, what would otherwise fail with the first lock.
   *
   * @throws LockOptionsError when a column or a right is missing
   */
  async probe(run: RunSql): Promise<void> {
    for (const role of ROLES[this.settings.mode]) await probe(run, role, this.tables[role]);
    // Whatever is found missing from now on has been lost.
    this.#missing = undefined;
    this.#settled = this.#database;
  }

  async #missingIn(database: string, ask: RunSql): Promise<readonly TableRole[]> {
    const roles = ROLES[this.settings.mode];
    const query = roles.map((role) => engineQuery('?', this.#name(role))).join(' UNION ALL ');
    const { rows } = await ask(query, Array<string>(roles.length).fill(database));
    for (const row of rows) {
      const problem = engineProblem(row);
      if (problem !== undefined) throw new LockOptionsError(`mysqlStore: ${problem}`);
    }
    const there = rows.filter(({ found }) => Number(found) > 0).map(({ name }) => name);
    return roles.filter((role) => !there.includes(this.#name(role)));
  }

  #name(role: TableRole): string {
    return tableName(this.settings.tables, role);
  }

  #list(roles: readonly TableRole[]): string {
    return roles.map((role) => `"${this.#name(role)}"`).join(', ');
  }
}
