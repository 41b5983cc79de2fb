import { AsyncResource } from 'node:async_hooks';
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

/** Takes the lock when the first value is asked for and holds it until the iteration ends, however it does. */
export function lockedAsyncIterable(locked: LockedMethod): Method {
  const { method, place } = locked;
  return async function* (this: unknown, ...args: never[]): AsyncGenerator {
    const service = serviceOf(this, place);
    const call = () => method.apply(this, args) as AsyncIterable<unknown>;
    if (!needsLock(locked, this, args)) {
      yield* call();
      return;
    }
    const keys = keysOfCall(locked, this, args);
    const client = ownScope(locked)?.signal;
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    // Inside the lock, so that what the method calls knows that its chain holds it.
    let inside: AsyncResource | undefined;
    let held!: Promise<unknown>;
    const answer = await new Promise((resolve, reject) => {
      const body = async () => {
        inside = new AsyncResource('LockedIteration');
        resolve(undefined);
        await finished;
      };
      held = service.withLock<unknown>(keys, optionsWith(locked, client), attended(locked, service, body));
      held.then(resolve, reject);
    });
    if (inside === undefined) {
      if (answer !== undefined) yield answer;
      return;
    }
    const resource = inside;
    try {
      const iterator = resource.runInAsyncScope(() => call()[Symbol.asyncIterator]());
      yield* {
        [Symbol.asyncIterator]: () => ({
          next: (value: unknown) => resource.runInAsyncScope(() => iterator.next(value)),
          return: (value?: unknown) =>
            resource.runInAsyncScope(async () => (await iterator.return?.(value)) ?? { done: true, value }),
          throw: (error: unknown) =>
            resource.runInAsyncScope(async () => {
              if (iterator.throw) return iterator.throw(error);
              await iterator.return?.();
              throw error;
            }),
        }),
      };
    } finally {
      finish();
      await held;
    }
  };
}
