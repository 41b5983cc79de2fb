import { leaseDeadline, systemClock, type Timer } from '../../contract/index.js';
import type { EntryRemoval } from './entry-removal.js';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import type { EtcdSession } from './etcd.session.js';
import { found, get } from './etcd.txn.js';
import { keepAliveOnce } from './keep-alive.js';
import { SessionCheck } from './session-check.js';

/** A sign of life in each of these parts of a session's time, and at least every so many ms, because what stands is looked at then. */
const INTERVAL = 1 / 3;
const LONGEST_INTERVAL = 10_000;
/** How long one may take, as a part of it. */
const PATIENCE = 1 / 2;
/** The pause after one that failed, as a part of it, and in ms. */
const RETRY = 1 / 50;
const LONGEST_RETRY = 1_000;
/** A session that nobody uses is kept for so long, in ms. */
const IDLE = 60_000;

/** Keeps a session alive, and looks whether what stands under it is what should. */
export class SessionKeeper {
  readonly #check: SessionCheck;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(
    private readonly session: EtcdSession,
    private readonly requests: EtcdRequests,
    private readonly names: EtcdNames,
    removal: EntryRemoval,
    private readonly commandTimeout: number,
  ) {
    this.#check = new SessionCheck(session, requests, names, removal);
  }

  start(): void {
    this.#next(this.#interval);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Looks whether the session still stands: something has happened to it, or may have. */
  async verify(): Promise<void> {
    const mark = get(this.names.session(this.session.lease));
    try {
      const { reply } = await this.requests.txn({ success: [mark] });
      if (found(reply, 0) === undefined) this.session.endByEtcd();
    } catch {
      // The next sign of life tells.
    }
  }

  get #interval(): number {
    return Math.min(this.session.ttl * INTERVAL, LONGEST_INTERVAL);
  }

  get #pause(): number {
    return Math.min(this.session.ttl * RETRY, LONGEST_RETRY);
  }

  #next(delay: number): void {
    if (!this.#stopped) this.#timer = systemClock.after(delay, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const { session } = this;
    if (session.members.size === 0 && systemClock.now() - session.usedAt > Math.max(IDLE, session.ttl)) {
      session.end(new Error('nobody has used the session for a while'));
      return;
    }
    try {
      const confirmed = await this.#signOfLife();
      this.#next(confirmed ? this.#interval : this.#pause);
      if (session.members.size > 0) await this.#check.run();
    } catch {
      // Until the session's time is over; the session sees to that itself.
      this.#next(this.#pause);
    }
  }

  /**
   * A member that was stopped for a while, and has been replaced as the leader meanwhile, answers what has piled up as if it still were; the leases that
   * it renews then are not those that count. So a renewal counts only when the leader's reign was still the same after it,
   * as a read that needs the majority's consent says.
   */
  async #signOfLife(): Promise<boolean> {
    const { session } = this;
    const timeout = Math.min(this.commandTimeout, session.ttl * PATIENCE);
    const { reply, start } = await this.requests.ask(
      (client, options) => keepAliveOnce(client, session.lease, options),
      timeout,
    );
    const ttl = Number(reply.TTL) * 1_000;
    if (ttl <= 0) {
      session.endByEtcd();
      return true;
    }
    const read = await this.requests.txn({ success: [get(this.names.session(session.lease))] }, timeout);
    if (read.reply.header.raft_term !== reply.header.raft_term) return false;
    session.extend(leaseDeadline(start, ttl));
    return true;
  }
}
