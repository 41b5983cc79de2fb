import type { TransactionSource } from '../../../lib/transaction/index.js';

export type Rows = Record<string, unknown>[];
export type RunSql = (text: string) => Promise<Rows>;
export type Body<T> = (tx: TransactionSource, sql: RunSql) => Promise<T>;

/** One library on one database, reduced to what the tests do with it. */
export interface TestClient {
  /** Commits when the body resolves, rolls back when it rejects, as the library itself would. */
  transaction<T>(body: Body<T>): Promise<T>;
  /** What the library has that might be taken for a transaction. */
  readonly notTransactions: () => Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export type MakeClient = (url: string) => Promise<TestClient>;

/** Runs a body between a begin and a commit that are statements. */
export async function between<T>(sql: RunSql, tx: TransactionSource, body: Body<T>): Promise<T> {
  await sql('START TRANSACTION');
  try {
    const result = await body(tx, sql);
    await sql('COMMIT');
    return result;
  } catch (error) {
    await sql('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
