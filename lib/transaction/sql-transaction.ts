/** What the servers differ in. `'mariadb'` and `'mysql'` are one dialect: which of the two it is, the server says itself. */
export type TransactionDialect = 'postgres' | 'mysql' | 'mariadb';

/**
 * An open transaction, by the two things that are needed of one. This is the adapter for whatever is not recognised by
 * itself: `{ dialect: 'postgres', query: (text) => tx.$queryRawUnsafe(text) }`.
 */
export interface SqlTransaction {
  /** Whose SQL it takes. */
  readonly dialect: TransactionDialect;
  /**
   * Runs one statement on the transaction's own connection. There are no parameters: values stand in the text in
   * hexadecimal, because every library writes placeholders its own way. May give the rows, `{ rows }`, or `[rows, fields]`.
   */
  query(text: string): PromiseLike<unknown>;
}

export type Row = Readonly<Record<string, unknown>>;

/** A transaction as its library handed it over, made usable. */
export interface TransactionSession {
  readonly dialect: 'postgres' | 'mysql';
  /** What stands for the connection: the same for every wrapper around it, as far as that can be told. */
  readonly connection: object;
  /** What all connections of one pool have in common, where that can be told: what is known of the server is kept by it. */
  readonly origin: object;
  query(text: string): Promise<readonly Row[]>;
}

/** The rows in what a library gives for a statement, in any of the usual forms. */
export function rowsOf(result: unknown): readonly Row[] {
  const rows = hasRows(result) ? result.rows : result;
  if (!Array.isArray(rows)) return [];
  // mysql2 and what stands on it: [rows, fields].
  return (Array.isArray(rows[0]) ? rows[0] : rows) as readonly Row[];
}

function hasRows(result: unknown): result is { readonly rows: unknown } {
  return typeof result === 'object' && result !== null && 'rows' in result;
}
