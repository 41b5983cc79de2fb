import { systemClock } from '../../contract/index.js';

export interface Bound<T> {
  /** ms. */
  readonly timeout: number;
  /** What to try where the first call failed. Not asked once the time is up: it must not overtake what was sent since then. */
  readonly second?: ((error: unknown) => Promise<T> | undefined) | undefined;
  /** The error when there was no answer in time. It is handed the call, which may be carried out still. */
  readonly late: (call: Promise<T>) => unknown;
  /** The error to report. */
  readonly failure: (error: unknown) => unknown;
}

/** What a call gives, or an error once its time is up; what comes after that is dropped. */
export function bounded<T>(call: () => Promise<T>, { timeout, second, late, failure }: Bound<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let settled = false;
    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      timer.cancel();
      return true;
    };
    const succeed = (value: T): void => {
      if (settle()) resolve(value);
    };
    const fail = (error: unknown): void => {
      if (settle()) reject(failure(error));
    };
    const timer = systemClock.after(timeout, () => {
      // A process that was blocked runs its timers before it reads: what has come in by now is heard first, also by a client
      // that passes it on a turn later.
      setImmediate(() =>
        setImmediate(() => {
          if (settle()) reject(late(sent));
        }),
      );
    });
    const sent = attempt(call);
    sent.then(succeed, (error: unknown) => {
      if (settled) return;
      const again = attempt(() => second?.(error));
      if (again) again.then(succeed, fail);
      else fail(error);
    });
  });
}

/** A client that refuses at once throws where another rejects. */
export function attempt<P extends Promise<unknown> | undefined>(call: () => P): P {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error) as P;
  }
}
