import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { RedisDriver } from './redis.driver.js';
import { clean, isPermanent, unavailable } from './redis.errors.js';

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

export interface ReadinessWait {
  /** ms. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
  /** Wait also for a client that is closed: somebody may be about to connect it. */
  readonly patient?: boolean;
}

/**
 * Waits for a connection instead of leaving a command in the client's own queue, where nobody could take it back.
 *
 * However many wait, the client gets one set of listeners, and only while somebody waits.
 */
export class Readiness {
  readonly #waiters = new Set<Waiter>();
  #unlisten: (() => void) | undefined;
  #lastError: unknown;

  constructor(private readonly driver: RedisDriver) {}

  async wait({ timeout, signal, patient = false }: ReadinessWait): Promise<void> {
    signal?.throwIfAborted();
    if (this.driver.ready) return;
    this.driver.start();
    if (this.driver.ended && !patient) throw this.#closed();

    let waiter: Waiter | undefined;
    let abort: (() => void) | undefined;
    const timer = systemClock.after(timeout, () => waiter?.reject(this.#late()));
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { resolve, reject };
        abort = () => reject(signal?.reason);
        signal?.addEventListener('abort', abort);
        this.#add(waiter);
      });
    } finally {
      timer.cancel();
      if (abort) signal?.removeEventListener('abort', abort);
      if (waiter) this.#remove(waiter);
    }
  }

  /** Why the client cannot be used. */
  get trouble(): LockUnavailableError {
    return this.#late();
  }

  /** Rejects everybody who waits. */
  close(error: unknown): void {
    for (const waiter of [...this.#waiters]) waiter.reject(error);
  }

  #add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#unlisten ??= this.driver.listen({
      ready: () => this.#each((each) => each.resolve()),
      ended: () => this.#each((each) => each.reject(this.#closed())),
      failed: (error) => {
        this.#lastError = error;
        if (isPermanent(error)) this.#each((each) => each.reject(unavailable(this.driver.address, error)));
      },
    });
  }

  #remove(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return;
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#lastError = undefined;
  }

  #each(settle: (waiter: Waiter) => void): void {
    for (const waiter of [...this.#waiters]) settle(waiter);
  }

  #late(): LockUnavailableError {
    if (this.driver.ended) return this.#closed();
    const cause = clean(this.#lastError);
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new LockUnavailableError(
      `redis at ${this.driver.address} is not reachable (status ${this.driver.status})${why}`,
      { cause },
    );
  }

  #closed(): LockUnavailableError {
    return new LockUnavailableError(
      `redis at ${this.driver.address} is not connected (status ${this.driver.status}): ${this.driver.advice}`,
      { cause: clean(this.#lastError) },
    );
  }
}
