import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseDeadline, systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { isLeaseGone, isLeaseTaken } from './etcd.errors.js';
import { EntryRemoval } from './entry-removal.js';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import { EtcdSession, SESSION_END_NOTICE, type Membership } from './etcd.session.js';
import { put, remove } from './etcd.txn.js';
import type { EtcdWatches } from './etcd.watches.js';
import { SessionKeeper } from './session-keeper.js';

/** ms between two tries to end what could not be ended. */
const REVOKE_PAUSE = 1_000;
const UNUSED_TRIES = 5;
// etcd takes up to 128 operations in a transaction.
const AT_ONCE = 100;
/** ms. */
const LAST_LOOKS = 50;

/** The sessions of a store: one for each whole number of seconds that somebody asks for. */
export class EtcdSessions {
  readonly #byTime = new Map<number, Promise<EtcdSession>>();
  /** Those that may stand in etcd: they have not ended, or etcd has not said so. */
  readonly #standing = new Set<EtcdSession>();
  readonly removal: EntryRemoval;
  #closed = false;
  /** No new session before this time. */
  #notBefore = 0;

  constructor(
    private readonly requests: EtcdRequests,
    private readonly names: EtcdNames,
    private readonly watches: EtcdWatches,
    /** ms */
    private readonly commandTimeout: number,
  ) {
    this.removal = new EntryRemoval(requests, this, names);
  }

  /** A session that is alive and lasts at least `ttl` ms without a sign of life. */
  async get(ttl: number): Promise<EtcdSession> {
    const seconds = Math.max(1, Math.ceil(ttl / 1_000));
    for (let tries = 2; tries > 0; tries -= 1) {
      const session = await (this.#byTime.get(seconds) ?? this.#open(seconds));
      session.usedAt = systemClock.now();
      if (session.alive) return session;
      session.end(new Error('etcd has not confirmed the session in time'));
    }
    throw new LockUnavailableError(`etcd takes longer than ${seconds} s to grant a session of that time`);
  }

  /** Where an owner has an entry, or is about to have one, the latest last: also in sessions that have ended and may still stand. */
  membershipsOf(owner: string): Membership[] {
    const all: Membership[] = [];
    for (const session of this.#standing) {
      const member = session.members.get(owner);
      if (member !== undefined) all.push({ session, member });
    }
    return all;
  }

  /** Ends all sessions, here and in etcd. */
  async close(reason: LockUnavailableError): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#byTime.values());
    const live = [...this.#standing].filter(({ ended }) => !ended);
    for (const session of live) session.end(reason);
    await Promise.allSettled(live.map((session) => this.#giveBack(session)));
  }

  #open(seconds: number): Promise<EtcdSession> {
    const opening = this.#grant(seconds);
    this.#byTime.set(seconds, opening);
    const forget = (): void => {
      if (this.#byTime.get(seconds) === opening) this.#byTime.delete(seconds);
    };
    opening.then(
      (session) => {
        this.#standing.add(session);
        // It may have ended while it was made.
        const keeper = new SessionKeeper(session, this.requests, this.names, this.removal, this.commandTimeout);
        keeper.start();
        const mark = this.names.session(session.lease);
        const stopWatching = this.watches.add(mark, BigInt(session.epoch), () => void keeper.verify());
        session.onEnd(() => {
          forget();
          keeper.stop();
          stopWatching();
          // Others may hear later than this process that etcd has ended their sessions, too.
          if (session.endedByEtcd) this.#notBefore = systemClock.now() + SESSION_END_NOTICE;
          // etcd may keep it for a while longer: nobody has to wait for that.
          if (!this.#closed) void this.#revoke(session.lease).then(() => this.#standing.delete(session));
        });
      },
      () => forget(),
    );
    return opening;
  }

  async #grant(seconds: number): Promise<EtcdSession> {
    const early = this.#notBefore - systemClock.now();
    if (early > 0) await sleep(early);
    // A number of our own, so that a request that is sent twice makes one lease.
    const lease = String(randomBytes(8).readBigUInt64BE() >> 1n);
    const send = () =>
      this.requests.ask((client, options) => client.leaseClient.leaseGrant({ TTL: seconds, ID: lease }, options));
    try {
      const { reply, start } = await send();
      const ttl = Number(reply.TTL) * 1_000;
      const session = new EtcdSession(lease, ttl);
      session.extend(leaseDeadline(start, ttl));
      const marked = await this.requests.txn({ success: [put(this.names.session(lease), '', lease)] });
      session.raiseEpoch(marked.reply.header.revision);
      return session;
    } catch (error) {
      // Nothing stands under it, and it ends by itself.
      void this.#revoke(lease, UNUSED_TRIES);
      // The first answer was lost, and how long etcd has made it with it.
      if (isLeaseTaken(error)) return this.#grant(seconds);
      throw error;
    }
  }

  /** One by one before the lease, so that nobody takes it for the end of a process. */
  async #giveBack({ lease, members }: EtcdSession): Promise<void> {
    const removals = [...members.values()].map(({ name }) => remove(name));
    for (let from = 0; from < removals.length; from += AT_ONCE) {
      await this.requests.txn({ success: removals.slice(from, from + AT_ONCE) }).catch(() => undefined);
    }
    // Those who were woken look whose end it was: they must find the session still there.
    if (removals.length > 0) await sleep(LAST_LOOKS);
    await this.#revoke(lease);
  }

  /** Has it ended for certain. Never rejects; gives up where the store is closed, or etcd refuses: it ends by itself then. */
  async #revoke(lease: string, tries = Infinity): Promise<void> {
    for (let left = tries; left > 0; left -= 1) {
      try {
        await this.requests.ask((client, options) => client.leaseClient.leaseRevoke({ ID: lease }, options));
        return;
      } catch (error) {
        if (this.#closed || !(error as LockUnavailableError).retryable || isLeaseGone(error)) return;
      }
      await sleep(REVOKE_PAUSE, undefined, { ref: false });
    }
  }
}
