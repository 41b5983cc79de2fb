import { LockOptionsError } from '../../errors/index.js';
import type { CorePool, MysqlPool } from './mysql.client.js';
import { corePool } from './mysql.client.js';

export interface OwnPoolOptions {
  /** What the user gave, in mysql2's own terms. */
  readonly connection: Readonly<Record<string, unknown>>;
  readonly connectionLimit: number;
  /** ms */
  readonly connectTimeout: number;
}

interface Mysql2 {
  createPool(options: object): MysqlPool;
}

/** Makes a pool of mysql2, which connects when it is used. */
export async function ownPool({ connection, ...settings }: OwnPoolOptions): Promise<CorePool> {
  const mysql2 = await load();
  try {
    return corePool(mysql2.createPool({ ...settings, ...connection, waitForConnections: true }));
  } catch (error) {
    // It would show what it was given, password and all.
    throw new LockOptionsError(`mysqlStore: mysql2 refuses the connection: ${(error as Error).name}.`);
  }
}

async function load(): Promise<Mysql2> {
  try {
    const module = (await import('mysql2')) as unknown as { default?: Mysql2 } & Mysql2;
    return module.default ?? module;
  } catch (cause) {
    const { code } = Object(cause) as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    throw new LockOptionsError('mysqlStore: connection needs a client. Install mysql2, or pass a pool.', cause);
  }
}
