import { watch, type FSWatcher } from 'node:fs';
import type { Doorbell } from '../shared/doorbell.js';
import { LOOK_SHARE } from './poll-delay.js';

// A change is announced when it is written, which may be a moment before SQLite lets others see it.
const SECOND_LOOK = 2;

/**
 * Rings waiters when somebody has written to the write-ahead log, which every release does. Where the operating system
 * does not tell, nobody rings and their polls go on as ever.
 */
export class WalWatcher {
  readonly #bells = new Set<Doorbell>();
  #watcher: FSWatcher | undefined;
  #secondLook: NodeJS.Timeout | undefined;
  #lastRing = -Infinity;

  constructor(private readonly locate: () => string | undefined) {}

  /** How many wait. */
  get size(): number {
    return this.#bells.size;
  }

  add(bell: Doorbell): void {
    this.#bells.add(bell);
    if (this.#watcher === undefined) this.#start();
  }

  delete(bell: Doorbell): void {
    this.#bells.delete(bell);
    if (this.#bells.size === 0) this.#stop();
  }

  /** Ends every wait with `reason`. */
  close(reason: unknown): void {
    for (const bell of this.#bells) bell.break(reason);
    this.#stop();
  }

  #start(): void {
    const log = this.locate();
    if (log === undefined) return;
    try {
      const watcher = watch(log, { persistent: false }, (event) => {
        // The log was removed or replaced: the next waiter starts anew.
        if (event === 'rename') this.#stop();
        this.#changed();
      });
      watcher.on('error', () => this.#stop());
      this.#watcher = watcher;
    } catch {
      // Out of watches, or a file system without them.
    }
  }

  #stop(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    clearTimeout(this.#secondLook);
    this.#secondLook = undefined;
  }

  #changed(): void {
    if (performance.now() - this.#lastRing >= this.#bells.size * LOOK_SHARE) this.#ring();
    this.#secondLook ??= setTimeout(
      () => {
        this.#secondLook = undefined;
        this.#ring();
      },
      SECOND_LOOK + this.#bells.size * LOOK_SHARE,
    ).unref();
  }

  #ring(): void {
    this.#lastRing = performance.now();
    for (const bell of this.#bells) bell.ring();
  }
}
