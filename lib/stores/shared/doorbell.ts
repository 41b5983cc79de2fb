import { systemClock, type Timer } from '../../contract/index.js';

/** Wakes one sleeper. A ring while nobody sleeps is kept, so that the next sleep ends at once. */
export class Doorbell {
  #rung = false;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Ends the present sleep and every later one with `reason`: the store is closing. */
  break(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake?.();
  }

  /** Resolves when rung or after `delay` ms. Rejects when `signal` aborts or the bell is broken. */
  async sleep(delay: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#rung && !this.#failure) await this.#nap(delay, signal);
    this.#rung = false;
    if (this.#failure) throw this.#failure.reason;
    signal.throwIfAborted();
  }

  async #nap(delay: number, signal: AbortSignal): Promise<void> {
    let timer: Timer | undefined;
    let wake = (): void => undefined;
    try {
      await new Promise<void>((resolve) => {
        wake = () => resolve();
        this.#wake = wake;
        signal.addEventListener('abort', wake);
        timer = systemClock.after(delay, wake);
      });
    } finally {
      this.#wake = undefined;
      timer?.cancel();
      signal.removeEventListener('abort', wake);
    }
  }
}
