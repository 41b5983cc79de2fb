import type {
  AcquireRequest,
  AcquireResult,
  LockStore,
  StoreGuarantees,
  StoreInspection,
} from '../../../contract/index.js';
import { Doorbell } from '../doorbell.js';
import { closedError } from '../store-state.js';
import { jitter } from '../wait-loop.js';
import { EntryHold } from './entry.hold.js';
import type { LiveSession } from './live.session.js';
import type { Entry, Place, QueueClaim, QueueDialect } from './queue.dialect.js';

export interface QueueSettings {
  /** ms between two looks of a waiter that nobody has woken: a lost event costs so much, never the turn. */
  readonly pollInterval: number;
}

/**
 * Locks as queues of entries in a consistent store: the first entry has the key, each waiter watches the one before it, so that a
 * release wakes one process, and the server removes the entries of a session that is not kept alive.
 *
 * @see https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks
 */
export class QueueStore<S extends LiveSession> implements LockStore {
  readonly name: string;
  readonly guarantees: StoreGuarantees;
  readonly modes = ['exclusive'] as const;

  /** By owner: what it holds or queues with. */
  readonly #entries = new Map<string, { readonly entry: Entry; readonly session: S }>();
  readonly #attended = new WeakSet<S>();
  readonly #holds = new Map<string, EntryHold>();
  readonly #bells = new Set<Doorbell>();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly dialect: QueueDialect<S>,
    private readonly settings: QueueSettings,
  ) {
    this.name = dialect.name;
    this.guarantees = dialect.guarantees;
  }

  open(): Promise<void> {
    return this.#reported(() => this.dialect.open());
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return this.#reported(() => this.#acquire(request));
  }

  abandon(key: string, owner: string): Promise<void> {
    return this.#reported(() => this.#leave(key, owner).then(() => undefined));
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    return this.#reported(() => this.dialect.inspect(key));
  }

  forceRelease(key: string): Promise<boolean> {
    return this.#reported(() => this.dialect.forceRelease(key));
  }

  /** All that this process was granted of a key and has not given back, in no order, whether it still counts or not. */
  protected holdsOf(key: string): EntryHold[] {
    return [...this.#holds.values()].filter((hold) => hold.key === key);
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    for (const bell of this.#bells) bell.break(closedError(this.name));
    await this.dialect.close();
  }

  async #acquire(request: AcquireRequest): Promise<AcquireResult> {
    const { key, owner, label, wait } = request;
    const held = this.#holds.get(owner);
    if (held && performance.now() < held.validUntil) return { acquired: true, hold: held };
    const claim = { key, owner, label, wait };
    for (;;) {
      const session = await this.dialect.session(request.ttl);
      this.#attend(session);
      const entered = await this.dialect.enter(session, claim);
      const { entry } = entered;
      if (entry === undefined) return { acquired: false, holder: entered.holder };
      this.#entries.set(owner, { entry, session });
      let { place } = entered;
      if (place.kind === 'behind') {
        if (!wait) {
          await this.#leave(key, owner);
          return { acquired: false, holder: place.holder };
        }
        place = await this.#wait(request, session, claim, entry, place);
      }
      // An entry that has gone, or a session, costs the place in the queue: a new one is made.
      if (place.kind === 'first' && session.alive) return { acquired: true, hold: this.#hold(session, claim, entry) };
      request.signal.throwIfAborted();
    }
  }

  async #wait(
    request: AcquireRequest,
    session: S,
    claim: QueueClaim,
    entry: Entry,
    start: Place & { kind: 'behind' },
  ): Promise<Place> {
    const bell = new Doorbell();
    const ring = (): void => bell.ring();
    const stopListening = session.onEnd(ring);
    this.#bells.add(bell);
    let watched: { readonly ahead: string; readonly stop: () => void } | undefined;
    try {
      for (let place: Place = start; ; place = await this.dialect.look(session, claim, entry)) {
        if (place.kind !== 'behind') return place;
        if (!session.alive) return { kind: 'gone' };
        request.onStatus({ kind: 'contended', holder: place.holder });
        if (watched?.ahead !== place.ahead) {
          watched?.stop();
          watched = undefined;
          const stop = await this.dialect.watch(session, claim.key, place.ahead, ring, place.seen);
          watched = { ahead: place.ahead, stop };
        }
        await bell.sleep(jitter(this.settings.pollInterval), request.signal);
      }
    } finally {
      watched?.stop();
      stopListening();
      this.#bells.delete(bell);
    }
  }

  #hold(session: S, { key, owner }: QueueClaim, entry: Entry): EntryHold {
    const hold = new EntryHold(key, owner, entry.fence, session, (mine) => this.#release(mine));
    this.#holds.set(owner, hold);
    return hold;
  }

  #release(hold: EntryHold): Promise<boolean> {
    return this.#reported(async () => {
      // One that was lost has been told so: that its entry may still stand makes it no better.
      const live = performance.now() < hold.validUntil;
      return (await this.#leave(hold.key, hold.owner)) && live;
    });
  }

  async #leave(key: string, owner: string): Promise<boolean> {
    const stood = await this.dialect.leave(key, owner, this.#entries.get(owner)?.entry);
    this.#forget(owner);
    return stood;
  }

  /** What stood in a session that has ended need not be remembered: who asks for it to be removed names it by its owner. */
  #attend(session: S): void {
    if (this.#attended.has(session)) return;
    this.#attended.add(session);
    session.onEnd(() => {
      for (const [owner, mine] of this.#entries) if (mine.session === session) this.#forget(owner);
    });
  }

  #forget(owner: string): void {
    this.#entries.delete(owner);
    const hold = this.#holds.get(owner);
    if (!hold) return;
    this.#holds.delete(owner);
    hold.session.holds.delete(hold);
  }

  async #reported<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw closedError(this.name);
    try {
      return await work();
    } catch (error) {
      throw this.dialect.toLockError(error);
    }
  }
}
