import { Observable, type Subscription } from 'rxjs';
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

/** What `withLock` answers when the stream has run, as opposed to what `onContended` answers in its place. */
const RAN = Symbol('ran');

/** Takes the lock anew at every subscription and holds it until the stream completes, fails or is unsubscribed. */
export function lockedObservable(locked: LockedMethod): Method {
  const { method, place } = locked;
  return function (this: unknown, ...args: never[]): Observable<unknown> {
    const service = serviceOf(this, place);
    const call = () => method.apply(this, args) as Observable<unknown>;
    if (!needsLock(locked, this, args)) return call();
    const keys = keysOfCall(locked, this, args);
    const client = ownScope(locked)?.signal;
    return new Observable((subscriber) => {
      const unsubscribed = new AbortController();
      subscriber.add(() => unsubscribed.abort());
      const run = () =>
        new Promise((resolve, reject) => {
          if (subscriber.closed) {
            resolve(RAN);
            return;
          }
          const subscription: Subscription = call().subscribe({
            next: (value) => subscriber.next(value),
            error: reject,
            complete: () => resolve(RAN),
          });
          subscriber.add(() => {
            subscription.unsubscribe();
            resolve(RAN);
          });
        });
      service
        .withLock<unknown>(keys, optionsWith(locked, unsubscribed.signal, client), attended(locked, service, run))
        .then(
          (answer) => {
            if (answer !== RAN && answer !== undefined) subscriber.next(answer);
            subscriber.complete();
          },
          (error: unknown) => subscriber.error(error),
        );
    });
  };
}
