import { AsyncResource } from 'node:async_hooks';
import { Observable } from 'rxjs';
import { LockOptionsError } from '../errors/index.js';
import type { LockScope } from '../interceptors/lock.scope.js';
import {
  attended,
  keysOfCall,
  needsLock,
  optionsWith,
  ownScope,
  serviceOf,
  type LockedMethod,
  type Method,
} from './locked-method.js';

/** Holds the lock until the method's promise has settled or, for a handler, until its scope has ended. */
export function lockedPromise(locked: LockedMethod): Method {
  const { method, options, place } = locked;
  return async function (this: unknown, ...args: never[]): Promise<unknown> {
    const service = serviceOf(this, place);
    if (!needsLock(locked, this, args)) return method.apply(this, args);
    const keys = keysOfCall(locked, this, args);
    const scope = ownScope(locked);
    if (scope !== undefined) {
      return underScope(
        scope,
        () => method.apply(this, args),
        (body) => service.withLock(keys, optionsWith(locked, scope.signal), attended(locked, service, body)),
      );
    }
    const body = async () => notLazy(await method.apply(this, args), place);
    return service.withLock(keys, options, attended(locked, service, body));
  };
}

/** Answers with the method's result as soon as it is there, but holds the lock until the scope has ended. */
function underScope(
  scope: LockScope,
  call: () => unknown,
  withLock: (body: () => Promise<unknown>) => Promise<unknown>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const waited = scope.wait();
    const held = withLock(async () => {
      waited();
      const result = await call();
      // Only now: an interceptor within the scope may have answered in the place of a body that fails or goes on.
      scope.keep(released);
      resolve(result instanceof Observable ? inThisContext(result) : result);
      await scope.finished;
      return result;
    });
    const released = held.then(
      () => undefined,
      (error: unknown) => {
        waited();
        throw error;
      },
    );
    // Where the body has answered already, what comes now is the scope's business alone.
    released.catch(() => undefined);
    held.then(resolve, reject);
  });
}

/** Makes the stream run where the lock is known: nested calls see that their chain holds it. */
function inThisContext(stream: Observable<unknown>): Observable<unknown> {
  const resource = new AsyncResource('LockedStream');
  return new Observable((subscriber) => resource.runInAsyncScope(() => stream.subscribe(subscriber)));
}

/** A stream that is returned out of a lock would run without it. */
function notLazy(result: unknown, place: string): unknown {
  const shape =
    typeof (result as { subscribe?: unknown } | null | undefined)?.subscribe === 'function'
      ? 'observable'
      : typeof (result as { [Symbol.asyncIterator]?: unknown } | null | undefined)?.[Symbol.asyncIterator] ===
          'function'
        ? 'asyncIterable'
        : undefined;
  if (shape === undefined) return result;
  throw new LockOptionsError(
    `${place}: the method returned a stream that its declaration does not show, so that the lock would end before it. ` +
      `Declare the return type (without Promise<…> around it), or set returns: '${shape}'.`,
  );
}
