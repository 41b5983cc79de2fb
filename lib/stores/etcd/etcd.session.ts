import { systemClock, type Timer } from '../../contract/index.js';
import { LiveSession } from '../shared/queue/live.session.js';
import type { Entry } from '../shared/queue/queue.dialect.js';
import type { EtcdNames } from './etcd.names.js';

/**
 * ms for which nobody takes over what a session held that etcd has ended.
 *
 * Before 3.5.13 a leader that was stopped for a while, and replaced, ends all sessions when it goes on, also those that are
 * alive. Their processes hear of it at once, but so does everybody else.
 *
 * @see https://github.com/etcd-io/etcd/issues/15247
 */
export const SESSION_END_NOTICE = 500;

/** What an owner has asked for under a session, and has not given back yet. */
export interface Member {
  readonly owner: string;
  readonly name: string;
  /** It was asked for, without an answer: it may still be carried out. */
  unsure: boolean;
  /** The lease of the entry that was directly before it when it was looked at last. */
  aheadLease?: string | undefined;
  /** Its entry, once it is known. */
  entry?: Entry | undefined;
  /** It is being removed, or was to be. */
  leaving: boolean;
  /** It was to be removed, and that has failed, or nobody knows whether it has. */
  owed: boolean;
  /** How many removals are under way, or may still be carried out. */
  removals: number;
}

/** A member, and where it is one. */
export interface Membership {
  readonly session: EtcdSession;
  readonly member: Member;
}

/** A lease of etcd that is kept alive, with the entries of many locks under it. */
export class EtcdSession extends LiveSession {
  /** By owner. What stands in etcd under this lease and is not among them stands there by mistake. */
  readonly members = new Map<string, Member>();
  /** The members' names. */
  readonly #names = new Set<string>();
  /** A part of the names: a new one where a name must not be used again. */
  #era = 0;
  /** When somebody last asked for this session. */
  usedAt = systemClock.now();
  #epoch = '0';
  #expiry: Timer | undefined;
  #endedByEtcd = false;

  constructor(
    /** The number of the lease, in decimal digits. */
    readonly lease: string,
    /** ms, as etcd has granted it. */
    readonly ttl: number,
  ) {
    super();
  }

  /**
   * The revision of the last change of what the session has written under its own name; 0: nothing yet. Every request to enter is bound to it, so that a
   * change has all those refused that were sent before and have not arrived.
   */
  get epoch(): string {
    return this.#epoch;
  }

  raiseEpoch(revision: string): void {
    if (BigInt(revision) > BigInt(this.#epoch)) this.#epoch = revision;
  }

  /**
   * Names are used again, since etcd walks over each name of a queue that there has ever been since it was compacted last: a key that is locked
   * again and again would take longer each time.
   */
  join(owner: string, key: string, names: EtcdNames): Member {
    const known = this.members.get(owner);
    if (known) return known;
    let number = 0;
    let name = names.entry(key, this.lease, this.#era, number);
    while (this.#names.has(name)) name = names.entry(key, this.lease, this.#era, ++number);
    const member = { owner, name, unsure: false, leaving: false, owed: false, removals: 0 };
    this.#names.add(name);
    this.members.set(owner, member);
    return member;
  }

  /** Nothing of its owner stands any more, or will. */
  part(member: Member): void {
    if (this.members.get(member.owner) !== member) return;
    this.members.delete(member.owner);
    this.#names.delete(member.name);
    // What is still to be removed by that name must not be the entry of another.
    if (member.removals > 0) this.#era += 1;
  }

  /** Whether it is that of a member. */
  uses(name: string): boolean {
    return this.#names.has(name);
  }

  override extend(validUntil: number): void {
    if (this.ended) return;
    // Those who held under it have been told already: an answer that comes too late brings nothing back.
    if (this.validUntil > -Infinity && !this.alive) {
      this.#runOut();
    } else {
      super.extend(validUntil);
      this.#arm();
    }
  }

  override end(cause: unknown): void {
    this.#expiry?.cancel();
    super.end(cause);
  }

  /** Whether it was etcd that said so, and not this process's clock. */
  get endedByEtcd(): boolean {
    return this.#endedByEtcd;
  }

  endByEtcd(): void {
    if (this.ended) return;
    this.#endedByEtcd = true;
    this.end(new Error('etcd has ended the session'));
  }

  #arm(): void {
    this.#expiry?.cancel();
    // Timers may fire a moment early.
    this.#expiry = systemClock.after(Math.max(0, this.validUntil - systemClock.now()) + 1, () => {
      if (this.alive) this.#arm();
      else this.#runOut();
    });
  }

  #runOut(): void {
    this.end(new Error(`etcd has not confirmed the session in time (lease of ${this.ttl / 1_000} s)`));
  }
}
