import type { QueueStatus } from '../contract/index.js';
import { LockContendedError, LockUnavailableError } from '../errors/index.js';
import type { Backend } from './backend.js';
import type { EngineContext } from './engine.context.js';
import { about } from './lock.events.js';
import type { Waiter } from './waiter.js';

/** What is known of who has a key, and what callers who give up are told for it. */
export class Standing {
  #heard: QueueStatus | undefined;
  /** Until when somebody was known to have the key. */
  #takenUntil = -Infinity;

  constructor(
    private readonly context: EngineContext,
    private readonly backend: Backend,
    private readonly key: string,
    /** Whether a caller of this process has the key. */
    private readonly heldHere: () => boolean,
  ) {}

  /** Whether the store has said that somebody has the key. */
  get heardContended(): boolean {
    return this.#heard?.kind === 'contended';
  }

  hear(status: QueueStatus): void {
    this.#heard = status;
  }

  /** The store is asked anew: what it said before is no longer known to be so. */
  askAnew(): void {
    if (this.heardContended) this.#takenUntil = this.context.clock.now();
    this.#heard = undefined;
  }

  freed(): void {
    this.#takenUntil = this.context.clock.now();
  }

  /** What a wait that has run out is reported as. */
  verdict(waiter: Waiter): Error {
    const { waited, since } = waiter;
    // A store that is just being asked has not failed yet: what most of the wait was spent on decides.
    const mostlyTaken = this.#heard === undefined && this.#takenUntil - since >= waited / 2;
    return this.heldHere() || this.heardContended || mostlyTaken ? this.contended(waiter) : this.#unavailable(waiter);
  }

  contended(waiter: Waiter, maxWaiters?: number): LockContendedError {
    const { waited } = waiter;
    const holder = this.#holder();
    this.context.events.emit('contended', { ...about(this.backend, waiter.request), waited, holder });
    return new LockContendedError({ key: this.key, holder, waited, maxWaiters });
  }

  #unavailable({ request, waited }: Waiter): LockUnavailableError {
    const cause = this.#heard?.kind === 'unreachable' ? this.#heard.cause : undefined;
    this.context.events.emit('unavailable', { ...about(this.backend, request), waited, cause });
    return new LockUnavailableError(
      `"${this.key}" was not locked: ` +
        this.backend.failure(cause ?? new Error(`it gave no answer within ${Math.round(waited)} ms`)),
      { key: this.key, cause },
    );
  }

  #holder(): string | undefined {
    if (this.heldHere()) return this.context.label;
    return this.#heard?.kind === 'contended' ? this.#heard.holder?.label : undefined;
  }
}
