import type { LockStore, StoreHold } from '../contract/index.js';
import type { LockRequest } from './lock.request.js';

/** Renew when a third of the lease has gone by, so that two more tries fit in before it ends. */
const RENEW_WHEN_LEFT = 2 / 3;
/** Renewals due within this part of a lease go out together. */
const BATCH_WINDOW = 1 / 30;
/** After an unknown outcome, ask again after this part of a lease. */
const RETRY_AFTER = 1 / 6;

/** How long one hold lasts, and when its lease is to be renewed. All times are of the engine's monotonic clock, in ms. */
export class Tenure {
  #retryAt = 0;
  /** When a hold ends whose store would keep it for as long as a session lives, although nobody wants it renewed. */
  #ttlEnd: number;

  constructor(
    private readonly store: LockStore,
    private readonly storeHold: StoreHold,
    private readonly request: LockRequest,
    private readonly start: number,
  ) {
    this.#ttlEnd = request.renew || store.renew !== undefined ? Infinity : start + request.ttl;
  }

  /** Until when the store promises the key. */
  get validUntil(): number {
    return this.storeHold.validUntil;
  }

  get end(): number {
    return Math.min(this.validUntil, this.#ttlEnd, this.#maxHoldEnd);
  }

  /** Why it is over although the store has the key still. */
  cut(now: number): string | undefined {
    const { maxHold, ttl } = this.request;
    if (now >= this.#maxHoldEnd) return `it was held for longer than maxHold (${maxHold} ms)`;
    return now >= this.#ttlEnd ? `its ttl (${ttl} ms) is over, and renew is off` : undefined;
  }

  /** Another `ttl` ms from now, where the store has no lease. */
  extend(now: number, ttl: number): void {
    if (this.#ttlEnd !== Infinity) this.#ttlEnd = Math.max(this.#ttlEnd, now + ttl);
  }

  /** Whether a renewal is to be sent now. */
  renewalDue(now: number): boolean {
    return this.#renews && now >= this.#renewAt;
  }

  renewalFailed(now: number): void {
    this.#retryAt = now + this.request.ttl * RETRY_AFTER;
  }

  /** When somebody must look after it next. */
  nextDue(renewing: boolean): number {
    return this.#renews && !renewing ? Math.min(this.#renewAt, this.end) : this.end;
  }

  get #renews(): boolean {
    return this.request.renew && this.store.renew !== undefined;
  }

  get #renewAt(): number {
    const { ttl } = this.request;
    const window = ttl * BATCH_WINDOW;
    const due = this.validUntil - ttl * RENEW_WHEN_LEFT;
    return Math.max(Math.floor(due / window) * window, this.#retryAt);
  }

  get #maxHoldEnd(): number {
    return this.start + this.request.maxHold;
  }
}
