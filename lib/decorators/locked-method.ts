import type { Lock } from '../engine/lock.js';
import { LockOptionsError } from '../errors/index.js';
import { AttendedLock } from '../interceptors/attended.lock.js';
import { LockScope } from '../interceptors/lock.scope.js';
import type { ResolveKeys } from '../keys/index.js';
import type { LockService } from '../lock.service.js';
import { lockIdsOf } from './lock.metadata.js';
import { show, type LockOptions } from '../options/index.js';

export type Method = (this: unknown, ...args: never[]) => unknown;

/** One method under one lock. */
export interface LockedMethod {
  readonly id: symbol;
  readonly place: string;
  readonly method: Method;
  readonly keysOf: ResolveKeys;
  readonly condition: ((...args: never[]) => boolean) | undefined;
  readonly abortOnDisconnect: boolean | undefined;
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

/** The scope of the handler's own call, the first time it is asked for: the lock then lasts as long as the scope. */
export function ownScope({ id }: LockedMethod): LockScope | undefined {
  const scope = LockScope.current();
  return scope?.claim(id, lockIdsOf) ? scope : undefined;
}

/** The method's options, with whatever ends its wait. */
export function optionsWith({ options }: LockedMethod, ...signals: readonly (AbortSignal | undefined)[]): LockOptions {
  const [first, ...others] = signals.filter((signal) => signal !== undefined);
  if (first === undefined) return options;
  return { ...options, signal: others.length === 0 ? first : AbortSignal.any([first, ...others]) };
}

/** The body, under a lock whose signal tells it too that its client has left, where that was asked for. */
export function attended<T>(
  { abortOnDisconnect }: LockedMethod,
  service: LockService,
  body: () => T,
): (lock: Lock) => T {
  const scope = LockScope.current();
  if (scope === undefined || !(abortOnDisconnect ?? scope.abortOnDisconnect)) return body;
  const { signal } = scope;
  return (lock) => service.runUnder(new AttendedLock(lock, signal), body);
}

export function keysOfCall({ keysOf }: LockedMethod, self: unknown, args: readonly never[]): readonly string[] {
  return keysOf({ self, args, request: () => LockScope.current()?.request() });
}

/** @throws LockOptionsError when the condition says neither true nor false */
export function needsLock({ condition, place }: LockedMethod, self: unknown, args: readonly never[]): boolean {
  if (condition === undefined) return true;
  const needed: unknown = condition.apply(self, [...args]);
  if (typeof needed === 'boolean') return needed;
  throw new LockOptionsError(`${place}: condition answered ${show(needed)}, but must answer true or false.`);
}
