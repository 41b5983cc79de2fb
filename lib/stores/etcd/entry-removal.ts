import { LockUnavailableError } from '../../errors/index.js';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import type { EtcdSession, Member, Membership } from './etcd.session.js';
import { found, get, modified, put, remove, removed } from './etcd.txn.js';

// Others may change it between two requests, but not for ever.
const MOST_TRIES = 20;

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

  /** A request to enter that had no answer may still arrive: a new epoch of the session has it refused, and late copies of this one. */
  async #withWhatIsOnItsWay(session: EtcdSession, member: Member): Promise<boolean> {
    const mark = this.names.session(session.lease);
    let again = false;
    for (let tries = MOST_TRIES; tries > 0; tries -= 1) {
      const { reply, repeated } = await this.requests.txn({
        compare: [modified(mark, session.epoch)],
        success: [remove(member.name), put(mark, '', session.lease)],
        failure: [get(mark)],
      });
      again ||= repeated;
      if (reply.succeeded) {
        session.raiseEpoch(reply.header.revision);
        member.removals -= 1;
        return told(removed(reply, 0), again && member.entry !== undefined);
      }
      const current = found(reply, 0);
      if (current === undefined) {
        // All that stood under its lease has gone with it.
        session.endByEtcd();
        return false;
      }
      session.raiseEpoch(current.mod_revision);
    }
    throw new LockUnavailableError('etcd: the epoch of the session has changed at every try to remove an entry');
  }
}

/** One of several tries may have removed it, or somebody else: nobody can tell. */
function told(stood: boolean, repeated: boolean): boolean {
  if (stood || !repeated) return stood;
  throw new LockUnavailableError('etcd did not say whether the entry that was to be removed still stood');
}
