import type { AcquireRequest, Clock, HolderInfo, StoreInspection, Timer } from '../../contract/index.js';

interface Owner {
  readonly owner: string;
  readonly label: string;
  readonly since: number;
  readonly fence: bigint;
}

interface Turn {
  grant(): void;
  refuse(reason: unknown): void;
}

interface Waiter extends Turn {
  readonly owner: string;
  leave(): void;
}

/** One key: who holds it, until when, and who queues for it. Tells its store when nothing is left of it. */
export class MemoryKey {
  expiresAt = 0;
  #owner: Owner | undefined;
  #queue: Waiter[] = [];
  #expiry: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly onEmpty: () => void,
  ) {}

  isHeldBy(owner: string): boolean {
    return this.#owner?.owner === owner && this.clock.now() < this.expiresAt;
  }

  /** Free with nobody ahead, or held by this very owner. */
  grantable(owner: string): boolean {
    if (this.#owner !== undefined && this.clock.now() < this.expiresAt) return this.#owner.owner === owner;
    return this.#queue.length === 0;
  }

  /** The fence of the hold: the old one when the owner had won already. */
  grantTo(owner: Owner, expiresAt: number): bigint {
    if (!this.isHeldBy(owner.owner)) this.#owner = owner;
    this.expiresAt = expiresAt;
    return this.#owner?.fence ?? owner.fence;
  }

  enqueue(request: AcquireRequest, turn: Turn): void {
    const abort = () => {
      this.leave(request.owner);
      turn.refuse(request.signal.reason);
    };
    request.signal.addEventListener('abort', abort, { once: true });
    const leave = () => request.signal.removeEventListener('abort', abort);
    this.#queue.push({ owner: request.owner, leave, ...turn });
    if (request.signal.aborted) abort();
    else this.#watchExpiry();
  }

  leave(owner: string): void {
    this.#queue = this.#queue.filter((waiter) => {
      if (waiter.owner !== owner) return true;
      waiter.leave();
      return false;
    });
    this.#dropIfEmpty();
  }

  release(owner: string): boolean {
    const held = this.isHeldBy(owner);
    if (held || this.#owner?.owner === owner) this.#passOn();
    return held;
  }

  close(): void {
    this.#expiry?.cancel();
    for (const waiter of this.#queue.splice(0)) {
      waiter.leave();
      waiter.refuse(new Error('the memory store is closed'));
    }
  }

  holder(): HolderInfo | undefined {
    return this.#owner && { label: this.#owner.label, remaining: this.expiresAt - this.clock.now() };
  }

  inspect(): StoreInspection | undefined {
    const now = this.clock.now();
    if (this.#owner === undefined || now >= this.expiresAt) return undefined;
    const { owner, label, since, fence } = this.#owner;
    return { owner, label, fence, age: now - since, remaining: this.expiresAt - now, waiters: this.#queue.length };
  }

  #passOn(): void {
    this.#owner = undefined;
    this.#expiry?.cancel();
    this.#expiry = undefined;
    const next = this.#queue.shift();
    if (next === undefined) {
      this.#dropIfEmpty();
      return;
    }
    next.leave();
    next.grant();
    this.#watchExpiry();
  }

  // Only a queue needs a timer: without one, whoever comes next looks at the clock.
  #watchExpiry(): void {
    if (this.#expiry !== undefined || this.#queue.length === 0) return;
    this.#expiry = this.clock.after(this.expiresAt - this.clock.now(), () => {
      this.#expiry = undefined;
      if (this.clock.now() < this.expiresAt) this.#watchExpiry();
      else this.#passOn();
    });
  }

  #dropIfEmpty(): void {
    if (this.#queue.length > 0 || (this.#owner !== undefined && this.clock.now() < this.expiresAt)) return;
    this.#expiry?.cancel();
    this.#expiry = undefined;
    this.onEmpty();
  }
}
