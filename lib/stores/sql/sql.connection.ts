/** What a statement gave. */
export interface SqlResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** How many rows it changed; 0 for a statement that changes none. */
  readonly changes: number;
  /** MySQL and MariaDB: the auto-increment value or `LAST_INSERT_ID(…)` of the statement. */
  readonly insertId?: bigint | undefined;
}

/** One session of a server. */
export interface SqlConnection {
  /**
   * Runs one statement. Rejects when it fails, or when no answer came within `timeout` ms; the session is then destroyed,
   * since nobody knows what it is doing.
   */
  query(text: string, params: readonly unknown[], timeout: number): Promise<SqlResult>;
  /** Told once when the session has ended, for whatever reason but {@link release} and {@link destroy}. */
  onEnded: ((cause: unknown) => void) | undefined;
  /** Gives a healthy session back to its pool. */
  release(): void;
  /** Ends the session at once. */
  destroy(): void;
}

/** Where sessions come from. */
export interface SqlPool {
  /** Host, port and database, for messages: never a user name or password. */
  readonly address: string;
  /** A session of its own. Rejects after `timeout` ms. */
  connect(timeout: number): Promise<SqlConnection>;
  /** Closes the pool if it was made by the store, and nothing that it was handed. */
  close(): Promise<void>;
}
