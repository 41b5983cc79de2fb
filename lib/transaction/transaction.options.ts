import { LockOptionsError } from '../errors/index.js';
import { parseDuration, show, type Duration } from '../options/duration.js';
import { PLACE } from './sources/index.js';
import { DEFAULT_TABLE, transactionTables, type TransactionTables } from './transaction.schema.js';

/**
 * What is locked.
 *
 * - `'advisory'`: a transaction-level advisory lock of PostgreSQL. Needs no table.
 * - `'row'`: a row of the lock table, which must exist: see `transactionSchema()`.
 */
export type TransactionLockMode = 'advisory' | 'row';

/** The options of `lockInTransaction()`. */
export interface TransactionLockOptions {
  /**
   * How long to queue. `0`: one try; `Infinity`: for ever. Counted by the server: to the millisecond on PostgreSQL and
   * MariaDB; MySQL counts whole seconds, so that it is rounded up there and even `0` may take a second. Default 5 s.
   */
  readonly wait?: Duration;
  /** Default `'advisory'` on PostgreSQL; `'row'` on MySQL and MariaDB, where there is nothing else. */
  readonly mode?: TransactionLockMode;
  /** Whether to draw a fencing token; needs what `transactionSchema()` creates, in either mode. Default `false`. */
  readonly fencing?: boolean;
  /** The table of `mode: 'row'`; `<table>_fence` is where tokens come from. Default `'distributed_lock_tx'`. */
  readonly table?: string;
  /**
   * How long the server may take to answer, besides the wait itself, until it counts as unavailable. The statement then
   * still runs, on a connection that is not ours to end: roll back, or let the connection go. Default 5 s.
   */
  readonly commandTimeout?: Duration;
}

export interface TransactionLockSettings {
  /** ms */
  readonly wait: number;
  readonly mode: TransactionLockMode;
  readonly fencing: boolean;
  readonly tables: TransactionTables;
  /** ms */
  readonly commandTimeout: number;
}

const KNOWN: Record<keyof TransactionLockOptions, true> = {
  wait: true,
  mode: true,
  fencing: true,
  table: true,
  commandTimeout: true,
};

/** @throws LockOptionsError naming the option that is wrong */
export function readTransactionOptions(
  options: TransactionLockOptions,
  dialect: 'postgres' | 'mysql',
): TransactionLockSettings {
  if (typeof options !== 'object' || (options as unknown) === null || Array.isArray(options)) {
    throw new LockOptionsError(`${PLACE}: the options are ${show(options)}, but must be an object.`);
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(KNOWN, name));
  if (unknown !== undefined) {
    throw new LockOptionsError(`${PLACE}: unknown option '${unknown}'. Known: ${Object.keys(KNOWN).join(', ')}.`);
  }
  const { wait = 5_000, fencing = false, table = DEFAULT_TABLE, commandTimeout = 5_000 } = options;
  const { mode = dialect === 'postgres' ? 'advisory' : 'row' } = options;
  check(['advisory', 'row'].includes(mode), 'mode', mode, `'advisory' or 'row'`);
  check(
    mode === 'row' || dialect === 'postgres',
    'mode',
    mode,
    `'row' on MySQL and MariaDB: GET_LOCK() is tied to the session, and a commit would not release it`,
  );
  check(typeof fencing === 'boolean', 'fencing', fencing, 'true or false');
  return {
    wait: parseDuration(wait, { min: 0, infinite: true }, 'wait', PLACE),
    mode,
    fencing,
    tables: transactionTables(table, PLACE),
    commandTimeout: parseDuration(commandTimeout, { min: 1 }, 'commandTimeout', PLACE),
  };
}

function check(valid: boolean, name: string, value: unknown, rule: string): void {
  if (!valid) throw new LockOptionsError(`${PLACE}: ${name} is ${show(value)}, but must be ${rule}.`);
}
