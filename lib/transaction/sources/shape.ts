import { LockOptionsError } from '../../errors/index.js';
import type { TransactionSession } from '../sql-transaction.js';
import { ACCEPTED_TRANSACTIONS } from '../transaction-source.js';

/** Something of unknown make. */
export type Shape = Readonly<Record<string, unknown>>;

export const PLACE = 'lockInTransaction()';

export function isShape(value: unknown): value is Shape {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

export function has(value: unknown, ...methods: readonly string[]): value is Shape {
  return isShape(value) && methods.every((method) => typeof value[method] === 'function');
}

/** Calls a method of something that was told to have it. */
export function call(target: Shape, method: string, ...args: readonly unknown[]): unknown {
  return (target[method] as (...args: readonly unknown[]) => unknown).call(target, ...args);
}

/** The dialect that goes by `name` in some library. */
export function dialectOf(name: unknown): TransactionSession['dialect'] | undefined {
  if (typeof name !== 'string') return undefined;
  if (/^(postgres|postgresql|pg|pgnative|aurora-postgres)$/.test(name)) return 'postgres';
  return /^(mysql|mysql2|mariadb|aurora-mysql)$/.test(name) ? 'mysql' : undefined;
}

/** @param cause what the library said */
export function ended(cause: unknown): LockOptionsError {
  return new LockOptionsError(
    `${PLACE}: tx is a transaction that has ended already. Hand over one that is open, and await the call within its callback.`,
    cause,
  );
}

/**
 * @param what what `tx` was found to be
 * @param instead what to hand over instead
 */
export function refused(what: string, instead = ACCEPTED_TRANSACTIONS): LockOptionsError {
  return new LockOptionsError(`${PLACE}: tx is ${what}. Hand over ${instead}.`);
}
