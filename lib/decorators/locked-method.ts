import { LockOptionsError } from '../errors/index.js';
import { LockScope } from '../interceptors/lock.scope.js';
import type { ResolveKeys } from '../keys/index.js';
import type { LockService } from '../lock.service.js';
import type { LockOptions } from '../options/index.js';

export type Method = (this: unknown, ...args: never[]) => unknown;

/** One method under one lock. */
export interface LockedMethod {
  readonly id: symbol;
  readonly place: string;
  readonly method: Method;
  readonly keysOf: ResolveKeys;
  readonly condition: ((...args: never[]) => boolean) | undefined;
  readonly options: LockOptions;
}

/** The property under which Nest injects the service into every class that has a locked method. */
export const LOCK_SERVICE = Symbol('nestjs-distributed-lock:service');
/** Marks a prototype that the injection is declared on already. */
export const injectedService = Symbol('nestjs-distributed-lock:injected');

/** @throws LockOptionsError when Nest has not injected it */
export function serviceOf(self: unknown, place: string): LockService {
  const service = (self as { [LOCK_SERVICE]?: LockService } | null | undefined)?.[LOCK_SERVICE];
  if (service !== undefined) return service;
  throw new LockOptionsError(
    self === undefined || self === null
      ? `${place}: the method was called without its object. Call it as service.method(), or bind it.`
      : `${place}: Nest has not created this object, so that it has no LockService. Make its class a provider or ` +
          'controller and get it by injection instead of by `new`.',
  );
}

export function keysOfCall({ keysOf }: LockedMethod, self: unknown, args: readonly never[]): readonly string[] {
  return keysOf({ self, args, request: () => LockScope.current()?.request() });
}

export function needsLock({ condition }: LockedMethod, self: unknown, args: readonly never[]): boolean {
  return condition === undefined || condition.apply(self, [...args]);
}
