import { closedError } from '../../shared/store-state.js';
import { keyHash } from '../key-hash.js';
import type { SqlPool, SqlResult } from '../sql.connection.js';
import { parameters, type Statement } from '../statement.js';
import type { TableDialect } from './table.dialect.js';

export interface RunnerSettings {
  /** ms that one statement may take. */
  readonly commandTimeout: number;
  /** ms that a connection may take to be there. */
  readonly connectTimeout: number;
  readonly createTable: boolean;
}

const MAX_TRIES = 5;

/** Runs single statements on whichever session is free: each commits by itself, and none belongs to a caller's transaction. */
export class TableRunner {
  /** Owners of which something was sent that got no answer, and until when it might still be carried out. */
  readonly #doubts = new Map<string, number>();
  #closed = false;

  constructor(
    private readonly dialect: TableDialect,
    private readonly pool: SqlPool,
    private readonly settings: RunnerSettings,
  ) {}

  close(): void {
    this.#closed = true;
  }

  run(statement: Statement, values: Readonly<Record<string, unknown>>): Promise<SqlResult> {
    return this.send(statement.text, parameters(statement, values));
  }

  async send(text: string, params: readonly unknown[]): Promise<SqlResult> {
    if (this.#closed) throw closedError(this.dialect.name);
    try {
      return await this.#repeated(text, params, (error) => this.#mended(error));
    } catch (error) {
      throw this.dialect.toLockError(error);
    }
  }

  /** Makes the tables where that is wanted, and else sees whether they are there. */
  async check(): Promise<void> {
    try {
      await this.dialect.check?.(this.pool);
      if (this.settings.createTable) await this.#createTables();
      await this.dialect.probe?.((text, params) => this.#once(text, params));
    } catch (error) {
      throw this.dialect.toLockError(error);
    }
    await this.run(this.dialect.statements.look, { id: keyHash(''), owner: '' });
  }

  async #createTables(): Promise<void> {
    for (const text of this.dialect.schema) await this.#repeated(text, [], (error) => this.dialect.isConflict(error));
  }

  /** Whether the same statement may be sent again. */
  async #mended(error: unknown): Promise<boolean> {
    if (this.dialect.isConflict(error)) return true;
    if (!this.settings.createTable || !this.dialect.isMissingTable(error)) return false;
    await this.#createTables();
    return true;
  }

  async #repeated(
    text: string,
    params: readonly unknown[],
    again: (error: unknown) => boolean | Promise<boolean>,
  ): Promise<SqlResult> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#once(text, params);
      } catch (error) {
        if (tries >= MAX_TRIES || !(await again(error))) throw error;
      }
    }
  }

  async #once(text: string, params: readonly unknown[]): Promise<SqlResult> {
    const connection = await this.pool.connect(this.settings.connectTimeout);
    try {
      return await connection.query(text, params, this.settings.commandTimeout);
    } finally {
      connection.release();
    }
  }

  /** What is sent for this owner may be carried out although it failed. */
  async inDoubt<T>(owner: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#forgetOldDoubts();
      this.#doubts.set(owner, performance.now() + 60_000);
      throw error;
    }
  }

  takeDoubt(owner: string): boolean {
    return this.#doubts.delete(owner);
  }

  #forgetOldDoubts(): void {
    const now = performance.now();
    for (const [owner, until] of this.#doubts) {
      if (until > now) return;
      this.#doubts.delete(owner);
    }
  }
}
