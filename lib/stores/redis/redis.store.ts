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
import type { Doorbell } from '../shared/doorbell.js';
import { inChunks, inGroups } from '../shared/in-chunks.js';
import { extend, LeaseHold } from '../shared/lease.hold.js';
import { Opened } from '../shared/opened.js';
import { jitter, waitLoop, type Attempt } from '../shared/wait-loop.js';
import { isIoredisCluster, isNodeRedisCluster } from './redis.client.js';
import type { RedisSettings } from './redis.options.js';
import { RedisSession } from './redis.session.js';

const ONE_NODE: StoreGuarantees = Object.freeze({
  ownership: true,
  fencing: 'global',
  survivesFailover: false,
  fifo: true,
  reach: 'network',
  expiry: 'lease',
  wakeUp: 'push',
});

// The counters of a cluster are its slots'.
const CLUSTER: StoreGuarantees = Object.freeze({ ...ONE_NODE, fencing: 'per-key' });

// A script holds the server up for as long as it runs.
const RENEWALS_PER_SCRIPT = 100;

/** @see redisStore */
export class RedisStore implements LockStore {
  readonly name = 'redis';
  readonly guarantees: StoreGuarantees;
  readonly modes = ['exclusive'] as const;

  readonly #opened: Opened<RedisSession>;

  constructor(private readonly settings: RedisSettings) {
    const { source } = settings;
    const clustered = 'client' in source && (isIoredisCluster(source.client) || isNodeRedisCluster(source.client));
    this.guarantees = clustered ? CLUSTER : ONE_NODE;
    this.#opened = new Opened<RedisSession>({
      name: this.name,
      make: () => RedisSession.open(settings),
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
    if (!request.wait) return this.#tryOnce(session, request);
    // The wait may end before it is known what becomes of a try.
    const onTrouble = (): void => {
      const cause = session.connection.trouble;
      if (cause !== undefined) request.onStatus({ kind: 'unreachable', cause });
    };
    return session.wakeUps.during(request.owner, (bell) => this.#wait(session, request, bell), onTrouble);
  }

  async abandon(key: string, owner: string): Promise<void> {
    await this.#opened.get().locks.abandon(key, owner);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const session = this.#opened.get();
    return inGroups(
      requests,
      ({ hold }) => session.locks.groupOf(hold.key),
      (group) => inChunks(group, RENEWALS_PER_SCRIPT, (chunk) => this.#renewChunk(session, chunk)),
    );
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

  async #tryOnce(session: RedisSession, request: AcquireRequest): Promise<AcquireResult> {
    const outcome = await this.#attempt(session, request);
    return 'fence' in outcome ? { acquired: true, hold: outcome } : { acquired: false, holder: outcome.holder };
  }

  async #wait(session: RedisSession, request: AcquireRequest, bell: Doorbell): Promise<AcquireResult> {
    const attempt = async (): Promise<Attempt<AcquireResult>> => {
      const outcome = await this.#attempt(session, request);
      if ('fence' in outcome) return { done: true, value: { acquired: true, hold: outcome } };
      request.onStatus({ kind: 'contended', holder: outcome.holder });
      return { done: false, retryIn: this.#untilNextPoll(outcome.holder.remaining) };
    };
    return waitLoop({
      attempt,
      bell,
      get signal() {
        return request.signal;
      },
    });
  }

  /** The hold, or who has it. A wake-up only says that a try is worth while: this is what confirms it. */
  async #attempt(session: RedisSession, request: AcquireRequest) {
    const { key, owner, label, ttl, wait } = request;
    const outcome = await session.locks.acquire({ key, owner, label, ttl, queue: wait }, request);
    if ('holder' in outcome) return outcome;
    const release = () => session.locks.release(key, owner);
    return new LeaseHold(key, owner, outcome.fence, leaseDeadline(outcome.start, ttl), release);
  }

  /** Soon after a lease has run out, and now and then before, for a message that was lost. */
  #untilNextPoll(remaining = Infinity): number {
    return Math.min(jitter(this.settings.pollInterval), remaining + 1 + Math.random() * 10);
  }

  async #renewChunk(session: RedisSession, requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const calls = requests.map(({ hold: { key, owner }, ttl }) => ({ key, owner, ttl }));
    try {
      const { start, renewed } = await session.locks.renew(calls);
      return requests.map(({ hold, ttl }, index) => {
        if (!renewed[index]) return 'lost';
        extend(hold, start, ttl);
        return 'renewed';
      });
    } catch {
      return requests.map(() => 'unknown');
    }
  }
}
