import type { StoreInspection } from '../../contract/index.js';
import type { RedisConnection } from './redis.connection.js';
import type { RedisKeys } from './redis.keys.js';
import { acquireReply, inspectReply, isWin, type AcquireReply } from './redis.replies.js';
import { acquireScript, forceReleaseScript, inspectScript, releaseScript, renewScript } from './scripts/index.js';

export interface AcquireCall {
  readonly key: string;
  readonly owner: string;
  readonly label: string;
  /** ms. */
  readonly ttl: number;
  /** Whether to queue when somebody else holds the key. */
  readonly queue: boolean;
}

export interface LocksSettings {
  /** Where this process hears that a lock was reserved for it. */
  readonly channelId: string;
  /** ms. */
  readonly claimTtl: number;
  /** ms after which a queue that nobody looks at is forgotten. */
  readonly queueTtl: number;
  /** Whether PUBLISH counts all who listen, and not only those at one node. */
  readonly counted: boolean;
}

export interface RenewCall {
  readonly key: string;
  readonly owner: string;
  /** ms. */
  readonly ttl: number;
}

/** The scripts as functions: what each is sent, and what its answer means. */
export class RedisLocks {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly settings: LocksSettings,
  ) {}

  /** Answers with the start of the request, from which a lease counts. */
  async acquire(
    call: AcquireCall,
    abortable?: { readonly signal: AbortSignal },
  ): Promise<AcquireReply & { start: number }> {
    const { key, owner, label, ttl, queue } = call;
    const { channelId, claimTtl, queueTtl } = this.settings;
    const { start, reply } = await this.connection.run(
      acquireScript,
      [this.keys.lock(key), this.keys.queue(key), this.keys.fence(key)],
      [
        ...[owner, whole(ttl), label, queue ? channelId : '', whole(claimTtl), whole(queueTtl), this.keys.wake, key],
        this.#counted,
      ],
      { abortable, confirms: isWin },
    );
    return { start, ...acquireReply(reply) };
  }

  /** Leaves the queue, and gives the key back if it is the owner's. */
  release(key: string, owner: string): Promise<boolean> {
    return this.#release(key, owner, `${owner}:`);
  }

  /** The same, for an owner of whose requests some may still be under way. */
  async abandon(key: string, owner: string): Promise<void> {
    await this.connection.settled(this.keys.lock(key));
    await this.release(key, owner);
  }

  /** Gives a reservation back. A lock that its owner has confirmed in the meantime stays. */
  decline(key: string, owner: string): Promise<boolean> {
    return this.#release(key, owner, `${owner}:0:`);
  }

  /** Leases of one group may be renewed by one call. */
  groupOf(key: string): number {
    return this.keys.group(key);
  }

  /** For each lease, all of one group, whether it was extended. */
  async renew(calls: readonly RenewCall[]): Promise<{ start: number; renewed: boolean[] }> {
    const { start, reply } = await this.connection.run(
      renewScript,
      calls.map(({ key }) => this.keys.lock(key)),
      calls.flatMap(({ owner, ttl }) => [owner, whole(ttl)]),
      { confirms: () => true },
    );
    return { start, renewed: (reply as unknown[]).map((outcome) => Number(outcome) === 1) };
  }

  async inspect(key: string): Promise<StoreInspection | undefined> {
    const { reply } = await this.connection.run(inspectScript, [this.keys.lock(key), this.keys.queue(key)], []);
    return inspectReply(reply);
  }

  async forceRelease(key: string): Promise<boolean> {
    const { reply } = await this.connection.run(
      forceReleaseScript,
      [this.keys.lock(key), this.keys.queue(key)],
      [whole(this.settings.claimTtl), this.keys.wake, key, this.#counted],
    );
    return Number(reply) === 1;
  }

  get #counted(): string {
    return this.settings.counted ? '1' : '0';
  }

  async #release(key: string, owner: string, expected: string): Promise<boolean> {
    const { channelId, claimTtl } = this.settings;
    const { reply } = await this.connection.run(
      releaseScript,
      [this.keys.lock(key), this.keys.queue(key)],
      [expected, `${owner}:${channelId}`, whole(claimTtl), this.keys.wake, key, this.#counted],
    );
    return Number(reply) === 1;
  }
}

/** Redis takes whole milliseconds only. */
function whole(ms: number): string {
  return String(Math.ceil(ms));
}
