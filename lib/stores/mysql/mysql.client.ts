import { show } from '../../options/duration.js';

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
  readonly config?: { readonly connectionConfig?: unknown; readonly connectionLimit?: unknown } | undefined;
}

const METHODS = ['getConnection', 'query', 'end'] as const;
const hasMethod = (value: unknown, method: string): boolean =>
  typeof (Object(value) as Record<string, unknown>)[method] === 'function';

/** Why `value` is no pool, such as a single connection, whose `release` and events nobody would hear. */
export function poolProblem(value: unknown): string | undefined {
  // Not shown: a URL has a password in it.
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? 'a string' : show(value);
  if (hasMethod(value, 'beginTransaction')) return 'a single connection';
  const absent = METHODS.find((method) => !hasMethod(value, method));
  return absent && `an object without a method ${absent}()`;
}

/** The promise form stands upon the callback form, which both have in common. */
export function corePool(pool: MysqlPool): CorePool {
  const { pool: below } = pool as { pool?: unknown };
  return (poolProblem(below) === undefined ? below : pool) as CorePool;
}

/** How many connections the pool has at the most. */
export function poolSize(pool: MysqlPool): number {
  const limit = corePool(pool).config?.connectionLimit;
  // 0 is no limit.
  return typeof limit === 'number' && limit > 0 ? limit : Infinity;
}
