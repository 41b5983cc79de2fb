import type { QueueStatus, StoreHold } from '../contract/index.js';
import { LockShutdownError } from '../errors/index.js';
import type { Backend } from './backend.js';
import { Contender, type Contenders } from './contender.js';
import type { EngineContext } from './engine.context.js';
import { Fifo } from './fifo.js';
import { canHandOff } from './hand-off.js';
import type { Grant, HoldKeeper } from './hold.keeper.js';
import { Hold } from './hold.js';
import { about } from './lock.events.js';
import type { LockRequest } from './lock.request.js';
import { Standing } from './standing.js';
import { Waiter } from './waiter.js';

/** One key in one process: its holder, its queue, and the one contender that stands in the store for all of them. */
export class Lane implements Contenders, HoldKeeper {
  readonly #queue = new Fifo<Waiter>();
  #current: Hold | undefined;
  #contender: Contender | undefined;
  readonly #standing: Standing;

  constructor(
    private readonly context: EngineContext,
    private readonly backend: Backend,
    private readonly key: string,
    private readonly onIdle: () => void,
  ) {
    this.#standing = new Standing(context, backend, key, () => this.#current !== undefined);
  }

  get waiters(): number {
    return this.#queue.length;
  }

  acquire(request: LockRequest, nested: boolean): Promise<Hold> {
    const trace = this.context.tracer?.wait({ store: this.backend.name, template: request.template });
    const waiter = new Waiter(this.context, request, nested, trace);
    if (request.signal?.aborted) {
      waiter.refuse(request.signal.reason);
    } else if (this.#waiting >= request.maxWaiters) {
      waiter.refuse(this.#standing.contended(waiter, request.maxWaiters));
    } else if (waiter.isProbe && this.#isTaken) {
      waiter.refuse(this.#standing.contended(waiter));
    } else {
      this.#queue.push(waiter);
      waiter.watch(
        () => this.#drop(waiter, this.#standing.verdict(waiter)),
        (reason) => this.#drop(waiter, reason),
      );
      this.#contend();
    }
    return waiter.promise;
  }

  /** Refuses everybody who waits, or, with `nested: false`, everybody who holds no other lock. */
  refuseAll({ nested = true } = {}): void {
    for (const waiter of this.#queue) {
      if (nested || !waiter.nested) this.#drop(waiter, new LockShutdownError(this.key));
    }
  }

  // HoldKeeper

  giveBack(hold: Hold): boolean | Promise<boolean> {
    const { minHold } = hold.request;
    const left = minHold === 0 ? 0 : hold.acquiredAt + minHold - this.context.clock.now();
    if (left > 0) return this.#linger(hold, left);
    this.#free();
    return this.#handOff(hold) || this.#giveToStore(hold);
  }

  onLost(hold: Hold): void {
    if (this.#current !== hold) return;
    this.#free();
    this.#contend();
    this.#dropIfIdle();
  }

  /** The store has taken the key away: whoever has it here, holding or lingering, need not find out by a renewal. */
  onForceRelease(): void {
    const hold = this.#current;
    if (hold === undefined) return;
    if (hold.watched) hold.lose('it was released by force');
    else this.onLost(hold);
  }

  // Contenders

  first(): LockRequest | undefined {
    return this.#queue.head?.request;
  }

  heard(status: QueueStatus): void {
    this.#standing.hear(status);
    const final =
      status.kind === 'unreachable' && (status.cause as { retryable?: boolean } | null)?.retryable === false;
    for (const waiter of this.#queue) {
      if (final || waiter.isProbe) this.#drop(waiter, this.#standing.verdict(waiter));
    }
  }

  granted(storeHold: StoreHold, since: number): void {
    this.#contender = undefined;
    const next = this.#queue.shift();
    if (next === undefined) {
      this.#returnUnused(storeHold);
      this.#dropIfIdle();
      return;
    }
    this.#give(next, { storeHold, handOffs: 0, since });
    for (const waiter of this.#queue) if (waiter.isProbe) this.#drop(waiter, this.#standing.contended(waiter));
  }

  /** How many callers stand behind the one that holds the key or contends for it. */
  get #waiting(): number {
    if (this.#current !== undefined) return this.#queue.length;
    return this.#queue.length === 0 ? -1 : this.#queue.length - 1;
  }

  /** Whether it is known that somebody else has the key. */
  get #isTaken(): boolean {
    return this.#current !== undefined || (this.#contender?.stopped === false && this.#standing.heardContended);
  }

  #contend(): void {
    if (this.#contender !== undefined || this.#current !== undefined || this.#queue.length === 0) return;
    this.#standing.askAnew();
    const contender = new Contender(this.context, this.backend, this.key, this);
    this.#contender = contender;
    const { contending } = this.context;
    const running = this.#run(contender);
    contending.add(running);
    void running.then(() => contending.delete(running));
  }

  async #run(contender: Contender): Promise<void> {
    try {
      await contender.run();
    } finally {
      // Callers may have come while it was on its way out.
      if (this.#contender === contender) {
        this.#contender = undefined;
        this.#contend();
        this.#dropIfIdle();
      }
    }
  }

  #free(): void {
    this.#current = undefined;
    this.#standing.freed();
  }

  #give(waiter: Waiter, grant: Grant): void {
    this.#current = new Hold(this.context, this.backend, this, waiter.request, grant);
    this.context.events.emit('acquired', {
      key: this.key,
      store: this.backend.name,
      template: waiter.request.template,
      waited: waiter.waited,
      handedOff: grant.handOffs > 0,
    });
    waiter.grant(this.#current);
  }

  #drop(waiter: Waiter, reason: unknown): void {
    this.#queue.remove(waiter);
    waiter.refuse(reason);
    if (this.#queue.length === 0) this.#contender?.stop();
  }

  /** Passes the lease on to the next caller without asking the store. */
  #handOff(hold: Hold): boolean {
    const next = this.#queue.head;
    const { clock, handOff } = this.context;
    if (next === undefined || !canHandOff(hold, next.request, handOff, clock.now())) return false;
    const { storeHold, handOffs, since } = hold.grant;
    this.#queue.remove(next);
    this.context.events.emit('handedOff', { ...about(this.backend, next.request), handOffs: handOffs + 1 });
    this.#give(next, { storeHold, handOffs: handOffs + 1, since });
    return true;
  }

  async #giveToStore(hold: Hold): Promise<boolean> {
    const { storeHold } = hold.grant;
    const released = storeHold.release();
    this.#track(released);
    // Sent right behind the release: one pause less before the next caller's turn.
    this.#contend();
    this.#dropIfIdle();
    try {
      const ours = await released;
      if (!ours) hold.lostAtRelease();
      return ours;
    } catch (cause) {
      this.context.cleaner.abandon(this.backend, this.key, storeHold.owner, hold.request.ttl);
      this.context.events.emit('releaseFailed', { ...about(this.backend, hold.request), cause });
      return false;
    }
  }

  #returnUnused(storeHold: StoreHold): void {
    const ttl = storeHold.validUntil - this.context.clock.now();
    const released = storeHold.release();
    this.#track(released);
    released.catch(() => this.context.cleaner.abandon(this.backend, this.key, storeHold.owner, ttl));
  }

  // A store is not closed while it still has to answer a release.
  #track(released: Promise<unknown>): void {
    const { releases } = this.context;
    releases.add(released);
    const done = () => releases.delete(released);
    released.then(done, done);
  }

  /** `minHold`: the body is done, but the key stays taken for `left` ms more. */
  #linger(hold: Hold, left: number): boolean {
    const { storeHold } = hold.grant;
    // The lease is made to end by itself soon after, so that the key comes free even if this process is gone by then.
    const renewed = this.backend.store.renew?.([{ hold: storeHold, ttl: left + LINGER_SPARE }]);
    renewed?.catch(() => undefined);
    this.context.clock.after(left, () => {
      if (this.#current !== hold) return;
      this.#free();
      this.#returnUnused(storeHold);
      this.#contend();
      this.#dropIfIdle();
    });
    return true;
  }

  #dropIfIdle(): void {
    if (this.#current === undefined && this.#contender === undefined && this.#queue.length === 0) this.onIdle();
  }
}

/** ms for which a lease outlasts `minHold`, so that the release comes before the expiry. */
const LINGER_SPARE = 500;
