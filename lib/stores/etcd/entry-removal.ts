import { LockUnavailableError } from '../../errors/index.js';
import { isLeaseGone } from './etcd.errors.js';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import type { EtcdSession, Member, Membership } from './etcd.session.js';
import { created, found, get, put, remove } from './etcd.txn.js';

interface Memberships {
  /** Where an owner has an entry, or is about to have one. */
  membershipsOf(owner: string): readonly Membership[];
}

/** Removes entries from the queues, for good: also those that are not there yet. */
export class EntryRemoval {
  constructor(
    private readonly requests: EtcdRequests,
    private readonly sessions: Memberships,
    private readonly names: EtcdNames,
  ) {}

  /** @returns whether one stood. Rejects when that is not known. */
  leave(owner: string): Promise<boolean> {
    const [first, ...others] = this.sessions.membershipsOf(owner);
    // It was never asked for, or etcd has ended what it stood under.
    if (first === undefined) return Promise.resolve(false);
    if (others.length === 0) return this.end(first);
    return Promise.all([first, ...others].map((each) => this.end(each))).then((stood) => stood.includes(true));
  }

  /** What is of no use to an owner that enters under `session`: it stands under another one, or may be removed at any moment. */
  useless(owner: string, session: EtcdSession): readonly Membership[] {
    return this.sessions.membershipsOf(owner).filter((each) => each.session !== session || each.member.leaving);
  }

  /** @returns whether it stood. Rejects when that is not known. */
  async end({ session, member }: Membership): Promise<boolean> {
    member.leaving = true;
    member.owed = false;
    member.removals += 1;
    const sure = member.entry !== undefined && !(member.unsure && session.alive);
    try {
      const stood = await (sure ? this.#byName(member) : this.#withWhatIsOnItsWay(session, member));
      session.part(member);
      return stood;
    } catch (error) {
      member.owed = true;
      throw error;
    }
  }

  async #byName(member: Member): Promise<boolean> {
    const { reply, repeated } = await this.requests.ask((client, options) =>
      client.kv.deleteRange({ key: Buffer.from(member.name) }, options),
    );
    // The first of several tries may arrive yet.
    if (!repeated) member.removals -= 1;
    return told(reply.deleted !== '0', repeated);
  }

  /**
   * Has requests of the session refused that were sent before and have not arrived.
   *
   * @returns whether the entry stands
   */
  async bar(session: EtcdSession, name: string): Promise<boolean> {
    const mark = put(this.names.session(session.lease), '', session.lease);
    const { reply } = await this.requests.txn({ success: [mark, get(name)] });
    session.raiseEpoch(reply.header.revision);
    return found(reply, 1) !== undefined;
  }

  /** A request to enter that had no answer may still arrive: a new epoch of the session has it refused. */
  async #withWhatIsOnItsWay(session: EtcdSession, member: Member): Promise<boolean> {
    const { name, entry } = member;
    // Also what such a request has made since the entry was removed by somebody else.
    const removal = [remove(name), put(this.names.session(session.lease), '', session.lease)];
    const compare = [created(name, entry ? String(entry.fence) : '0')];
    try {
      const { reply, repeated } = await this.requests.txn({ compare, success: removal, failure: removal });
      session.raiseEpoch(reply.header.revision);
      if (!repeated) member.removals -= 1;
      return told(reply.succeeded === (entry !== undefined), repeated && entry !== undefined);
    } catch (error) {
      if (!isLeaseGone(error)) throw error;
      // All that stood under it has gone with it.
      session.endByEtcd();
      return false;
    }
  }
}

/** One of several tries may have removed it, or somebody else: nobody can tell. */
function told(stood: boolean, repeated: boolean): boolean {
  if (stood || !repeated) return stood;
  throw new LockUnavailableError('etcd did not say whether the entry that was to be removed still stood');
}
