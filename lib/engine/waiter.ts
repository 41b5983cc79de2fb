import type { Timer } from '../contract/index.js';
import type { EngineContext } from './engine.context.js';
import type { Queued } from './fifo.js';
import type { Hold } from './hold.js';
import type { LockRequest } from './lock.request.js';
import type { WaitTrace } from './lock.tracer.js';
import { onAbort } from './on-abort.js';

/** One call that waits for a key in this process. Settles once, and leaves no timer and no listener behind. */
export class Waiter implements Queued<Waiter> {
  before?: Waiter | undefined;
  behind?: Waiter | undefined;

  readonly since: number;
  readonly promise: Promise<Hold>;
  #resolve!: (hold: Hold) => void;
  #reject!: (reason: unknown) => void;
  #timer: Timer | undefined;
  #stopListening: (() => void) | undefined;

  constructor(
    private readonly context: EngineContext,
    readonly request: LockRequest,
    /** Its caller runs under another lock already. */
    readonly nested: boolean,
    private readonly trace: WaitTrace | undefined,
  ) {
    this.since = context.clock.now();
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Exactly one try: whatever is heard first from the store decides. */
  get isProbe(): boolean {
    return this.request.wait === 0;
  }

  get waited(): number {
    return this.context.clock.now() - this.since;
  }

  /** Starts the clock on the wait, and listens to the caller's signal. */
  watch(onTimeout: () => void, refuse: (reason: unknown) => void): void {
    const { wait, signal } = this.request;
    // Somebody awaits this: unlike all other timers, it keeps the process alive.
    if (wait > 0 && wait !== Infinity) this.#timer = this.context.clock.after(wait, onTimeout, true);
    if (signal !== undefined) this.#stopListening = onAbort(signal, () => refuse(signal.reason));
  }

  grant(hold: Hold): void {
    this.#cleanUp();
    if (this.trace !== undefined) hold.trace = this.trace.granted(hold.grant.handOffs > 0);
    this.#resolve(hold);
  }

  refuse(reason: unknown): void {
    this.#cleanUp();
    this.trace?.refused(reason);
    this.#reject(reason);
  }

  #cleanUp(): void {
    this.#timer?.cancel();
    this.#stopListening?.();
  }
}
