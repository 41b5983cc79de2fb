/** A pool of mysql2 (`mysql.createPool(…)`), in its promise or its callback form, as far as the store needs to know it. */
export interface MysqlPool {
  readonly getConnection: (...args: never[]) => unknown;
  readonly query: (...args: never[]) => unknown;
  readonly end: (...args: never[]) => unknown;
}

/** What the callback form gives for a statement: rows, or what a statement has done. */
export type MysqlReply =
  | readonly Readonly<Record<string, unknown>>[]
  | { readonly affectedRows?: number; readonly insertId?: number | string };

/** A pool's connection in the callback form, below either of the two. */
export interface CoreConnection {
  query(options: object, done: (error: Error | null, reply: MysqlReply) => void): unknown;
  /** The same by a statement that the session keeps prepared. */
  execute(options: object, done: (error: Error | null, reply: MysqlReply) => void): unknown;
  release(): void;
  destroy(): void;
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown;
  off(event: 'error' | 'end', listener: (error?: unknown) => void): unknown;
  readonly stream?: { destroy?(): unknown } | undefined;
  readonly threadId?: number | null | undefined;
}

/** A pool in the callback form. */
export interface CorePool {
  getConnection(done: (error: Error | null, connection: CoreConnection) => void): void;
  end(done: (error?: unknown) => void): void;
  readonly config?: { readonly connectionConfig?: unknown } | undefined;
}

/** Whether `value` is a pool rather than a single connection, whose `release` and events nobody would hear. */
export function isMysqlPool(value: unknown): value is MysqlPool {
  const pool = Object(value) as Record<string, unknown>;
  return ['getConnection', 'query', 'end'].every((method) => typeof pool[method] === 'function');
}

/** The promise form stands upon the callback form, which both have in common. */
export function corePool(pool: MysqlPool): CorePool {
  const { pool: below } = pool as { pool?: unknown };
  return (isMysqlPool(below) ? below : pool) as object as CorePool;
}
