import 'reflect-metadata';
import type { LockOptions } from '../options/index.js';

const LOCKS = Symbol('nestjs-distributed-lock:locks');

export interface LockMetadata {
  /** Stands for one use of the decorator. */
  readonly id: symbol;
  readonly place: string;
  /** Without those that only a decorator has. */
  readonly options: LockOptions;
}

export function addLockMetadata(method: object, lock: LockMetadata): void {
  Reflect.defineMetadata(LOCKS, [...locksOf(method), lock], method);
}

/** The locks that a method runs under, the outermost last. */
export function locksOf(method: object): readonly LockMetadata[] {
  return (Reflect.getOwnMetadata(LOCKS, method) as readonly LockMetadata[] | undefined) ?? [];
}

export function lockIdsOf(method: object): readonly symbol[] {
  return locksOf(method).map(({ id }) => id);
}
