import { systemClock } from '../../../contract/index.js';
import { LockUnavailableError } from '../../../errors/index.js';

/** What `promise` gives, or a rejection after `timeout` ms. What becomes of it later is for whoever made it to see to. */
export function within<T>(promise: Promise<T>, timeout: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.after(timeout, () => {
      // After a blocked event loop a timer comes before the answer that has long arrived: that is heard first.
      setImmediate(() =>
        setImmediate(() => reject(new LockUnavailableError(`${what} got no answer within ${Math.round(timeout)} ms`))),
      );
    });
    promise.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
