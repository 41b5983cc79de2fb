/** What is used of a client that a pg `Pool` gives. */
export interface PgClient {
  query(config: { readonly text: string; readonly values?: unknown[]; readonly name?: string }): Promise<PgResult>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown;
  release(destroy?: boolean | Error): void;
  /** Whether nothing is under way on it. */
  readonly readyForQuery?: boolean | undefined;
  /** `'I'`: outside of any transaction. Not known to an older pg. */
  getTransactionStatus?(): string | null | undefined;
  /** Hears what the server says. Not there with pg-native. */
  readonly connection?: { on?(event: string, listener: (message: unknown) => void): unknown } | undefined;
}

export interface PgResult {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
}

/** A `Pool` of pg 8, or anything that has the same methods. */
export interface PgPool {
  connect(): Promise<PgClient>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  readonly options?: object | undefined;
  readonly totalCount?: number | undefined;
  readonly idleCount?: number | undefined;
}

/** Options of a pg `Pool` or `Client`, such as `{ host, port, user, password, database, ssl }`. */
export type PgConfig = Readonly<Record<string, unknown>>;

/** How many sessions a pool has at most, where it says so. */
export function poolSize(pool: PgPool | undefined): number {
  return Number((pool?.options as { max?: unknown } | undefined)?.max ?? Infinity);
}

/** What is wrong with a pool, or nothing. */
export function poolProblem(pool: unknown): string | undefined {
  if (typeof pool !== 'object' || pool === null) return 'not an object';
  for (const method of ['connect', 'on', 'removeListener'] as const) {
    if (typeof (pool as Record<string, unknown>)[method] !== 'function') return `without a method ${method}()`;
  }
  // A pg Client has connect(), too, but is one session only.
  if ('processID' in pool) return 'a single client';
  return undefined;
}
