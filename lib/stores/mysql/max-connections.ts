import { LockOptionsError } from '../../errors/index.js';
import { show } from '../../options/duration.js';
import { poolSize } from './mysql.client.js';
import type { MysqlMode } from './mysql.modes.js';
import type { MysqlSettings } from './mysql-store.options.js';

/** For looking at the sessions that hold or wait, and for ending them. */
const SPARE = 2;
const DEFAULT = 10;
const MOST = 10_000;

/**
 * How many sessions locks may take. A pool that has no room for the others would make every wait end as if the server were gone.
 *
 * @throws LockOptionsError naming the pool's limit where that is too small
 */
export function readMaxConnections(given: unknown, mode: MysqlMode, source: MysqlSettings['source']): number {
  const limit = limitOf(source);
  const spare = mode === 'table' ? 0 : SPARE;
  const room = Math.min(MOST, limit - spare);
  if (room < 1) {
    throw wrong(
      `the pool's connectionLimit is ${limit}, but must be ${1 + spare} or more in mode '${mode}': ` +
        'one connection to hold or wait with, and two to look at it and to end it',
    );
  }
  if (given === undefined) return Math.min(DEFAULT, room);
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 1 || given > MOST) {
    throw wrong(`maxConnections is ${show(given)}, but must be a whole number from 1 to ${MOST}`);
  }
  if (given <= room) return given;
  throw wrong(
    `maxConnections is ${given}, but must be ${room} or less: the pool's connectionLimit is ${limit}` +
      (spare > 0 ? `, of which ${spare} are for looking at the others and for ending them` : ''),
  );
}

function limitOf(source: MysqlSettings['source']): number {
  if ('pool' in source) return poolSize(source.pool);
  const { connectionLimit } = source.connection;
  return typeof connectionLimit === 'number' && connectionLimit > 0 ? connectionLimit : Infinity;
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`mysqlStore: ${problem}.`);
}
