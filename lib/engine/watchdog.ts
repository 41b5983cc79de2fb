import type { Clock, RenewOutcome, Timer } from '../contract/index.js';
import type { Backend } from './backend.js';
import { DueQueue } from './due-queue.js';
import type { Hold } from './hold.js';

// Timers fire up to 1 ms early; without this the queue would be looked at twice.
const TIMER_GRAIN = 1;

/**
 * Looks after all holds with one timer: renews leases, in one batch per store, and ends a hold whose time has run out,
 * whether or not its store answers.
 */
export class Watchdog {
  readonly #due = new DueQueue<Hold>();
  #timer: Timer | undefined;
  #wakeAt = Infinity;

  constructor(private readonly clock: Clock) {}

  watch(hold: Hold): void {
    this.#due.remove(hold);
    hold.dueAt = hold.nextDue();
    if (hold.dueAt === Infinity) return;
    this.#due.add(hold);
    this.#arm();
  }

  // The timer stays as it is: one that finds nothing due costs less than a new one at every release.
  forget(hold: Hold): void {
    this.#due.remove(hold);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakeAt = Infinity;
  }

  #arm(): void {
    const first = this.#due.first;
    if (first === undefined || first.dueAt >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = first.dueAt;
    this.#timer = this.clock.after(Math.max(TIMER_GRAIN, first.dueAt - this.clock.now()), () => this.#wake());
  }

  #wake(): void {
    this.#wakeAt = Infinity;
    const now = this.clock.now();
    const batches = new Map<Backend, Hold[]>();
    for (let hold = this.#due.first; hold !== undefined && hold.dueAt <= now; hold = this.#due.first) {
      this.#due.remove(hold);
      if (hold.expire(now)) continue;
      if (hold.renewalDue(now)) {
        hold.renewing = true;
        const batch = batches.get(hold.backend);
        if (batch === undefined) batches.set(hold.backend, [hold]);
        else batch.push(hold);
      }
      this.watch(hold);
    }
    for (const [backend, holds] of batches) void this.#renew(backend, holds);
    this.#arm();
  }

  async #renew(backend: Backend, holds: readonly Hold[]): Promise<void> {
    let outcomes: RenewOutcome[] = [];
    let cause: unknown;
    try {
      const requests = holds.map(({ grant, request }) => ({ hold: grant.storeHold, ttl: request.ttl }));
      outcomes = (await backend.store.renew?.(requests)) ?? [];
    } catch (error) {
      cause = error;
    }
    holds.forEach((hold, index) => {
      hold.renewing = false;
      const outcome = outcomes[index] ?? 'unknown';
      // By the store's hold, which may have changed hands meanwhile.
      if (outcome === 'lost')
        hold.grant.storeHold.onLost?.(new Error('a renewal found the key gone, or with another owner'));
      else if (outcome === 'renewed') hold.renewed();
      else hold.renewalFailed(cause);
      if (hold.watched) this.watch(hold);
    });
  }
}
