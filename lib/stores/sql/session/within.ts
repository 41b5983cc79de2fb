import { LockUnavailableError } from '../../../errors/index.js';
import { bounded } from '../../shared/bounded.js';

/** What `promise` gives, or a rejection after `timeout` ms. What becomes of it later is for whoever made it to see to. */
export function within<T>(promise: Promise<T>, timeout: number, what: string): Promise<T> {
  return bounded(() => promise, {
    timeout,
    late: () => new LockUnavailableError(`${what} got no answer within ${Math.round(timeout)} ms`),
    failure: (error) => error,
  });
}
