import type { Doorbell } from './doorbell.js';

export type Attempt<T> =
  | { readonly done: true; readonly value: T }
  /** Try again when woken, and after `retryIn` ms at the latest. */
  | { readonly done: false; readonly retryIn: number };

export interface WaitLoop<T> {
  /** One try against the store. A rejection ends the loop. */
  readonly attempt: () => Promise<Attempt<T>>;
  /** Rung by the store's push, where it has one. A store that only polls passes a bell that nobody rings. */
  readonly bell: Doorbell;
  readonly signal: AbortSignal;
}

/**
 * Tries until done: try, sleep until woken or until the poll is due, try again. Rejects when `signal` aborts.
 *
 * The signal is not looked at before the first try has failed: making one costs about as much as a local acquisition.
 */
export async function waitLoop<T>(loop: WaitLoop<T>): Promise<T> {
  for (;;) {
    const outcome = await loop.attempt();
    if (outcome.done) return outcome.value;
    await loop.bell.sleep(outcome.retryIn, loop.signal);
  }
}

/** `delay` give or take a quarter, so that processes that started together do not poll together. */
export function jitter(delay: number): number {
  return delay * (0.75 + Math.random() * 0.5);
}
