import { LockUnavailableError } from '../../errors/index.js';
import { isBusy } from './sqlite.errors.js';

/**
 * Runs `work` until no other connection is in its way. SQLite's own busy handler is off, since it sleeps on the event
 * loop's thread; a write takes some ten microseconds, so that the next try mostly gets through.
 *
 * @param timeout ms after which the file counts as unavailable
 */
export async function retryWhileBusy<T>(work: () => T, timeout: number, filename: string): Promise<T> {
  const start = performance.now();
  for (let tries = 0; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const waited = performance.now() - start;
      if (waited >= timeout) {
        throw new LockUnavailableError(
          `The lock database ${filename} is kept locked by another connection; gave up after ${Math.round(waited)} ms`,
          { cause: error },
        );
      }
      // Keeps the process alive: a release must not be forgotten because nothing else is left to do.
      await new Promise((resolve) => (tries < 2 ? setImmediate(resolve) : setTimeout(resolve, 1 + Math.random() * 4)));
    }
  }
}
