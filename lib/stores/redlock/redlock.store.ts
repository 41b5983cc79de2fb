import {
  leaseDeadline,
  type AcquireRequest,
  type AcquireResult,
  type HolderInfo,
  type LockStore,
  type RenewOutcome,
  type RenewRequest,
  type StoreGuarantees,
  type StoreInspection,
} from '../../contract/index.js';
import { inChunks } from '../shared/in-chunks.js';
import { Opened } from '../shared/opened.js';
import { jitter, waitLoop, type Attempt } from '../shared/wait-loop.js';
import type { Election, Outcome } from './redlock.locks.js';
import { RedlockHold } from './redlock.hold.js';
import type { RedlockSettings } from './redlock.options.js';
import { RedlockSession } from './redlock.session.js';
import { pause } from './turns.js';

const GUARANTEES: StoreGuarantees = Object.freeze({
  ownership: true,
  fencing: 'none',
  survivesFailover: false,
  fifo: false,
  reach: 'network',
  expiry: 'lease',
  wakeUp: 'push',
});

// A script holds the server up for as long as it runs.
const RENEWALS_PER_SCRIPT = 100;
/** ms by which those who have just begun to wait let others go first. */
const HEAD_START = 3;
/** ms after a vote that was split; doubled with each further one. */
const FIRST_BACKOFF = 5;

type Contended = { readonly holder: HolderInfo; readonly split: boolean };

/** @see redlockStore */
export class RedlockStore implements LockStore {
  readonly name = 'redlock';
  readonly guarantees = GUARANTEES;
  readonly modes = ['exclusive'] as const;

  readonly #opened: Opened<RedlockSession>;

  constructor(private readonly settings: RedlockSettings) {
    this.#opened = new Opened<RedlockSession>({
      name: this.name,
      make: () => RedlockSession.open(settings),
      end: (session, closed) => session.close(closed),
    });
  }

  get warnings(): readonly string[] {
    return this.#opened.current?.warnings ?? [];
  }

  open(): Promise<void> {
    return this.#opened.open();
  }

  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const session = this.#opened.get();
    if (request.wait) await session.turns.own(request.key);
    const outcome = await this.#attempt(session, request);
    if (outcome instanceof RedlockHold) return { acquired: true, hold: outcome };
    if (!request.wait) return { acquired: false, holder: outcome.holder };
    return { acquired: true, hold: await this.#wait(session, request, outcome) };
  }

  async abandon(key: string, owner: string): Promise<void> {
    await this.#opened.get().locks.abandon(key, owner);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const session = this.#opened.get();
    return inChunks(requests, RENEWALS_PER_SCRIPT, (chunk) => this.#renewChunk(session, chunk));
  }

  async inspect(key: string): Promise<StoreInspection | undefined> {
    return this.#opened.get().locks.inspect(key);
  }

  async forceRelease(key: string): Promise<boolean> {
    return this.#opened.get().locks.forceRelease(key);
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  #wait(session: RedlockSession, request: AcquireRequest, first: Contended): Promise<RedlockHold> {
    let outcome: RedlockHold | Contended | undefined = first;
    let splits = 0;
    let head = HEAD_START;
    const attempt = async (): Promise<Attempt<RedlockHold>> => {
      if (outcome === undefined) {
        // Those who have come away empty more often ask before those who have just begun to wait.
        if (head > 0) await pause(head);
        head -= 1;
        outcome = await this.#attempt(session, request);
      }
      if (outcome instanceof RedlockHold) return { done: true, value: outcome };
      const { holder, split } = outcome;
      outcome = undefined;
      request.onStatus({ kind: 'contended', holder });
      splits = split ? splits + 1 : 0;
      return { done: false, retryIn: this.#untilNextTry(holder.remaining, splits) };
    };
    return session.wakeUps.during(request.key, (bell) =>
      waitLoop({
        attempt,
        bell,
        get signal() {
          return request.signal;
        },
      }),
    );
  }

  async #attempt(session: RedlockSession, request: AcquireRequest): Promise<RedlockHold | Contended> {
    const { key, owner, label, ttl } = request;
    const outcome: Outcome = await session.locks.acquire({ key, owner, label, ttl });
    if (!outcome.won) return outcome;
    return new RedlockHold(key, owner, outcome.validUntil, () => this.#release(session, key, owner, outcome));
  }

  async #release(session: RedlockSession, key: string, owner: string, election: Election): Promise<boolean> {
    const own = session.wakeUps.listensFor(key) ? 1 : 0;
    const released = session.locks.release(key, owner, election);
    session.turns.giveWay(
      key,
      released.then(({ told }) => told - own),
    );
    return (await released).had;
  }

  /**
   * Soon after a majority of leases has run out, and now and then before, for messages that were lost. After a split
   * vote very soon, but not all at the same time.
   */
  #untilNextTry(remaining = Infinity, splits: number): number {
    const poll = Math.min(jitter(this.settings.pollInterval), remaining + 1 + Math.random() * 10);
    if (splits === 0) return poll;
    return Math.min(poll, FIRST_BACKOFF * 2 ** splits * Math.random());
  }

  async #renewChunk(session: RedlockSession, requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const calls = requests.map(({ hold: { key, owner }, ttl }) => ({ key, owner, ttl }));
    const { start, outcomes } = await session.locks.renew(calls);
    requests.forEach(({ hold, ttl }, index) => {
      if (!(hold instanceof RedlockHold) || outcomes[index] === 'lost') return;
      const deadline = leaseDeadline(start, ttl);
      // Some nodes may have shortened the lease, though too few have said so.
      hold.validUntil = outcomes[index] === 'renewed' ? deadline : Math.min(hold.validUntil, deadline);
    });
    return outcomes;
  }
}
