import type { Clock } from '../contract/index.js';

/** Resolves after `delay` ms, or as soon as the signal aborts. */
export function pause(clock: Clock, delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = () => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(delay, end);
    signal.addEventListener('abort', end, { once: true });
  });
}
