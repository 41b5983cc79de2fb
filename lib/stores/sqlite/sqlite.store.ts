import {
  leaseDeadline,
  type AcquireRequest,
  type AcquireResult,
  type LockStore,
  type RenewOutcome,
  type RenewRequest,
  type StoreGuarantees,
  type StoreInspection,
} from '../../contract/index.js';
import { Doorbell } from '../shared/doorbell.js';
import { extend, LeaseHold } from '../shared/lease.hold.js';
import { closedError } from '../shared/store-state.js';
import { waitLoop, type Attempt } from '../shared/wait-loop.js';
import { pollDelay } from './poll-delay.js';
import { SqliteConnection } from './sqlite.connection.js';
import type { ClaimResult, Refusal, SqliteSession } from './sqlite.session.js';
import { readSqliteOptions, type SqliteSettings, type SqliteStoreOptions } from './sqlite-store.options.js';
import { WalWatcher } from './wal-watcher.js';

type Claimed = { readonly granted: true; readonly hold: LeaseHold } | Refusal;

const ANCHOR_INTERVAL = 2 ** 30;
const SWEEP_INTERVAL = 60_000;
// Keeps one batch within a few milliseconds of the event loop's time.
const RENEW_BATCH = 500;

/**
 * Locks shared by the processes of one host, in a table of an SQLite file.
 *
 * Waiting processes are served in the order in which they came: each holds a numbered ticket, and nobody overtakes a live one. A
 * ticket lives for a second (or ten poll intervals) after its process last looked, so that a killed waiter holds nobody
 * up for longer; a process that is stopped for longer than that may be overtaken, and has its place again when it wakes.
 *
 * Leases and tickets go by the host's wall clock, as SQLite reads it. A step forward makes leases end early for other
 * processes: a holder finds out at its next renewal, and until then two may believe in the lock, which is what the fencing token is for.
 * A step backward makes the leases of crashed processes last longer by so much. The holder's own `validUntil` is monotonic and sees neither.
 */
export class SqliteStore implements LockStore {
  readonly name = 'sqlite';
  readonly modes = ['exclusive'] as const;
  readonly guarantees: StoreGuarantees = {
    ownership: true,
    fencing: 'global',
    survivesFailover: false,
    fifo: true,
    reach: 'host',
    expiry: 'lease',
    wakeUp: 'poll',
  };

  readonly #settings: SqliteSettings;
  readonly #connection: SqliteConnection;
  readonly #watcher: WalWatcher;
  readonly #ticketLife: number;
  #nextSweep = 0;

  constructor(options: SqliteStoreOptions) {
    this.#settings = readSqliteOptions(options);
    this.#connection = new SqliteConnection(this.#settings);
    this.#watcher = new WalWatcher(() => this.#connection.writeAheadLog);
    this.#ticketLife = Math.max(1_000, 10 * this.#settings.pollInterval);
  }

  async open(): Promise<void> {
    await this.#connection.open();
    this.#sweep();
  }

  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const ticketLife = request.wait ? this.#ticketLife : undefined;
    const result = await this.#claim(request, (session) => session.claim(request, ticketLife));
    this.#sweep();
    if (result.granted) return { acquired: true, hold: result.hold };
    if (!request.wait) return { acquired: false, holder: result.holder };
    request.onStatus({ kind: 'contended', holder: result.holder });
    return { acquired: true, hold: await this.#wait(request) };
  }

  abandon(key: string, owner: string): Promise<void> {
    return this.#connection.run((session) => session.abandon(key, owner));
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const outcomes: RenewOutcome[] = [];
    for (let first = 0; first < requests.length; first += RENEW_BATCH) {
      outcomes.push(...(await this.#renew(requests.slice(first, first + RENEW_BATCH))));
    }
    return outcomes;
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    return this.#connection.run((session) => session.inspect(key));
  }

  forceRelease(key: string): Promise<boolean> {
    return this.#connection.run((session) => session.forceRelease(key));
  }

  async close(): Promise<void> {
    this.#watcher.close(closedError('sqlite'));
    this.#connection.close();
  }

  async #wait(request: AcquireRequest): Promise<LeaseHold> {
    const { signal } = request;
    const bell = new Doorbell();
    this.#watcher.add(bell);
    // Somebody awaits this, and a file keeps no process alive as a connection to a server would.
    const anchor = setInterval(() => undefined, ANCHOR_INTERVAL);
    try {
      // Looks at once: the key may have become free before the watch began.
      return await waitLoop({ attempt: () => this.#poll(request), bell, signal });
    } catch (error) {
      // To spare the next in the queue the time until the ticket lapses; the engine's abandon() makes sure.
      if (signal.aborted) this.#connection.tryNow((session) => session.leaveQueue(request.owner));
      throw error;
    } finally {
      clearInterval(anchor);
      this.#watcher.delete(bell);
    }
  }

  async #poll(request: AcquireRequest): Promise<Attempt<LeaseHold>> {
    const result = await this.#claim(request, (session) => session.poll(request, this.#ticketLife));
    if (result.granted) return { done: true, value: result.hold };
    request.onStatus({ kind: 'contended', holder: result.holder });
    const rules = {
      pollInterval: this.#settings.pollInterval,
      ticketLife: this.#ticketLife,
      waiting: this.#watcher.size,
    };
    return { done: false, retryIn: pollDelay(result, rules) };
  }

  async #claim({ key, owner, ttl }: AcquireRequest, work: (session: SqliteSession) => ClaimResult): Promise<Claimed> {
    let start = 0;
    const result = await this.#connection.run((session) => {
      // Of the try that won, not of those that found the file busy.
      start = performance.now();
      return work(session);
    });
    if (!result.granted) return result;
    const release = () => this.#connection.run((session) => session.release(key, owner));
    return { granted: true, hold: new LeaseHold(key, owner, result.fence, leaseDeadline(start, ttl), release) };
  }

  async #renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const leases = requests.map(({ hold: { key, owner }, ttl }) => ({ key, owner, ttl }));
    let start = 0;
    const renewed = await this.#connection.run((session) => {
      start = performance.now();
      return session.renew(leases);
    });
    return requests.map(({ hold, ttl }, index) => {
      if (!renewed[index]) return 'lost';
      extend(hold, start, ttl);
      return 'renewed';
    });
  }

  // On the occasion of a call, so that an idle process does nothing.
  #sweep(): void {
    const now = performance.now();
    if (now < this.#nextSweep) return;
    const more = this.#connection.tryNow((session) => session.sweep());
    if (more !== undefined) this.#nextSweep = now + (more ? 1_000 : SWEEP_INTERVAL);
  }
}

/**
 * A store for the processes of one host, without a server. See {@link SqliteStore}.
 *
 * @throws LockOptionsError when an option is wrong
 */
export function sqliteStore(options: SqliteStoreOptions): LockStore {
  return new SqliteStore(options);
}
