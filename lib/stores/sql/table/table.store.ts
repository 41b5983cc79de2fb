import {
  leaseDeadline,
  type AcquireRequest,
  type AcquireResult,
  type LockStore,
  type RenewOutcome,
  type RenewRequest,
  type StoreGuarantees,
  type StoreInspection,
} from '../../../contract/index.js';
import type { Doorbell } from '../../shared/doorbell.js';
import { extend, LeaseHold } from '../../shared/lease.hold.js';
import { closedError } from '../../shared/store-state.js';
import { waitLoop, type Attempt } from '../../shared/wait-loop.js';
import { keyHash } from '../key-hash.js';
import type { SqlPool } from '../sql.connection.js';
import { pollDelay } from './poll-delay.js';
import type { TableDialect } from './table.dialect.js';
import { TableLocks, type Look } from './table.locks.js';
import { TableRunner, type RunnerSettings } from './table.runner.js';
import { TableSweeper } from './table.sweeper.js';
import { TableWaiters, type TablePush } from './table.waiters.js';

export interface TableSettings extends RunnerSettings {
  /** ms between two looks of the first in the queue while it is told of its turn. */
  readonly pollInterval: number;
  /** ms between two looks of the first in the queue where nobody tells it. */
  readonly fastPollInterval: number;
}

// A release that saw no ticket yet wakes nobody: a second look soon after the ticket stands finds what it left.
const SECOND_LOOK = 20;
const RENEWALS_PER_STATEMENT = 500;

/**
 * Locks in a table of an SQL server: a row is a lease, by the server's clock. Every statement commits by itself.
 *
 * Waiting processes are served in the order in which they came: each holds a numbered ticket, and nobody overtakes a live one. A
 * ticket lives for some seconds after its process last looked, so that a killed waiter holds nobody up for longer; a
 * process that is stopped for longer than that may be overtaken, and has its place again when it wakes.
 */
export class TableStore implements LockStore {
  readonly name: string;
  readonly guarantees: StoreGuarantees;
  readonly modes = ['exclusive'] as const;

  readonly #runner: TableRunner;
  readonly #locks: TableLocks;
  readonly #waiters: TableWaiters;
  readonly #sweeper: TableSweeper;
  readonly #ticketLife: number;
  /** By owner, so that one who asks again is told the same token again. */
  readonly #holds = new Map<string, LeaseHold>();
  #closing: Promise<void> | undefined;

  constructor(
    dialect: TableDialect,
    private readonly pool: SqlPool,
    private readonly settings: TableSettings,
    push?: TablePush,
  ) {
    this.name = dialect.name;
    this.guarantees = dialect.guarantees;
    this.#runner = new TableRunner(dialect, pool, settings);
    this.#locks = new TableLocks(dialect, this.#runner);
    this.#waiters = new TableWaiters(push);
    this.#sweeper = new TableSweeper(() => this.#locks.sweep());
    this.#ticketLife = Math.max(1_000, 4 * settings.pollInterval, 10 * settings.fastPollInterval);
  }

  async open(): Promise<void> {
    if (this.#closing) throw closedError(this.name);
    // Makes the tables where they are missing, or else fails now.
    await this.#runner.check();
    this.#sweeper.occasion();
  }

  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const hold = await this.#claim(request, false);
    this.#sweeper.occasion();
    if (hold !== undefined) return { acquired: true, hold };
    if (!request.wait) return { acquired: false, holder: (await this.#locks.look(request.key, request.owner)).holder };
    // So much is known, and a short wait may hear no more.
    request.onStatus({ kind: 'contended', queued: false });
    return { acquired: true, hold: await this.#waiters.during(request.owner, (bell) => this.#wait(request, bell)) };
  }

  async abandon(key: string, owner: string): Promise<void> {
    await this.#locks.abandon(key, owner);
    this.#holds.delete(owner);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const outcomes: RenewOutcome[] = [];
    for (let from = 0; from < requests.length; from += RENEWALS_PER_STATEMENT) {
      outcomes.push(...(await this.#renew(requests.slice(from, from + RENEWALS_PER_STATEMENT))));
    }
    return outcomes;
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    return this.#locks.inspect(key);
  }

  forceRelease(key: string): Promise<boolean> {
    return this.#locks.forceRelease(key);
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#runner.close();
    await this.#waiters.close(closedError(this.name));
    await this.pool.close();
  }

  async #wait(request: AcquireRequest, bell: Doorbell): Promise<LeaseHold> {
    const { key, owner } = request;
    let looks = 0;
    const attempt = async (): Promise<Attempt<LeaseHold>> => {
      let seen = await this.#locks.look(key, owner);
      if (seen.ticket === undefined || seen.ticket < this.#ticketLife / 2) {
        await this.#locks.enqueue(key, owner, this.#ticketLife);
        // What was free before the ticket stood may be so still, and its release has woken nobody.
        seen = await this.#locks.look(key, owner);
      }
      if (seen.mine || (seen.free && seen.ahead === 0)) {
        const hold = await this.#claim(request, true);
        if (hold !== undefined) return { done: true, value: hold };
      }
      request.onStatus({ kind: 'contended', holder: seen.holder });
      looks += 1;
      return { done: false, retryIn: looks === 1 ? SECOND_LOOK : this.#untilNextLook(seen) };
    };
    return waitLoop({
      attempt,
      bell,
      get signal() {
        return request.signal;
      },
    });
  }

  #untilNextLook(seen: Look): number {
    const { pollInterval, fastPollInterval } = this.settings;
    const interval = this.#waiters.rung ? pollInterval : fastPollInterval;
    return pollDelay(seen, { pollInterval: interval, ticketLife: this.#ticketLife });
  }

  async #claim(request: AcquireRequest, inTurn: boolean): Promise<LeaseHold | undefined> {
    const { key, owner, label, ttl } = request;
    const grant = await this.#locks.claim({ key, owner, label, ttl }, inTurn);
    if (grant === undefined) return undefined;
    const before = this.#holds.get(owner);
    const fence = before !== undefined && performance.now() < before.validUntil ? before.fence : grant.fence;
    const release = (): Promise<boolean> => this.#release(key, owner);
    const hold = new LeaseHold(key, owner, fence, leaseDeadline(grant.start, ttl), release);
    this.#holds.set(owner, hold);
    return hold;
  }

  async #release(key: string, owner: string): Promise<boolean> {
    const wasLive = await this.#locks.release(key, owner);
    this.#holds.delete(owner);
    return wasLive;
  }

  async #renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    if (requests.length === 0) return [];
    const start = performance.now();
    let renewed: ReadonlySet<string>;
    try {
      const leases = requests.map(({ hold: { key, owner }, ttl }) => ({ id: keyHash(key), owner, ttl }));
      renewed = await this.#locks.renew(leases);
    } catch {
      return requests.map(() => 'unknown');
    }
    return requests.map(({ hold, ttl }) => {
      if (!renewed.has(hold.owner)) return 'lost';
      extend(hold, start, ttl);
      return 'renewed';
    });
  }
}
