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
  /**
   * Calls `done` in the very turn in which it stops to hear the client's errors itself. A wrapper may leave `done` alone and
   * give a promise of the client.
   */
  connect(done: (error: Error | undefined, client?: PgClient) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  readonly options?: object | undefined;
  readonly totalCount?: number | undefined;
  readonly idleCount?: number | undefined;
}

/** Options of a pg `Pool` or `Client`, such as `{ host, port, user, password, database, ssl }`. */
export type PgConfig = Readonly<Record<string, unknown>>;

/** How many sessions a pool has at most, where it says so. */
export function poolSize(pool: Pick<PgPool, 'options'> | undefined): number {
  return Number((pool?.options as { max?: unknown } | undefined)?.max ?? Infinity);
}

/** Whether the pool has a session left, or room for one, so that asking for it takes no longer than connecting. */
export function hasAnother(pool: PgPool): boolean {
  const { idleCount = 0, totalCount = Infinity } = pool;
  return idleCount > 0 || totalCount < poolSize(pool);
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
