import { LockUnavailableError } from '../../errors/index.js';
import type { Entry } from '../shared/queue/queue.dialect.js';
import { isLeaseGone } from './etcd.errors.js';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import type { EtcdSession, Member } from './etcd.session.js';

import { created, found, get, modified, put, remove } from './etcd.txn.js';

interface MemberFinder {
  /** Where an owner's entry stands, or is about to. */
  find(owner: string): { readonly session: EtcdSession; readonly member: Member } | undefined;
}

/** Removes entries from the queues, for good: also those that are not there yet. */
export class EntryRemoval {
  constructor(
    private readonly requests: EtcdRequests,
    private readonly sessions: MemberFinder,
    private readonly names: EtcdNames,
  ) {}

  /** @returns whether it stood. Rejects when that is not known. */
  async leave(name: string, owner: string, known: Entry | undefined): Promise<boolean> {
    const { session, member } = this.sessions.find(owner) ?? {};
    if (member) Object.assign(member, { leaving: true, owed: false });
    try {
      const stood = await this.#leave(name, owner, known ?? member?.entry, session, member);
      session?.members.delete(owner);
      return stood;
    } catch (error) {
      if (member) member.owed = true;
      throw error;
    }
  }

  async #leave(
    name: string,
    owner: string,
    entry: Entry | undefined,
    session: EtcdSession | undefined,
    member: Member | undefined,
  ): Promise<boolean> {
    if (session?.alive && (member?.unsure || !entry)) return this.#withWhatIsOnItsWay(name, owner, entry, session);
    // An owner that was granted the key does not come again, so that the name says enough.
    if (entry && !member?.granted) return this.#thisOne(name, entry);
    return this.#byName(name, entry !== undefined);
  }

  async #byName(name: string, tell: boolean): Promise<boolean> {
    const { reply, repeated } = await this.requests.ask((client, options) =>
      client.kv.deleteRange({ key: Buffer.from(name) }, options),
    );
    return told(reply.deleted !== '0', repeated && tell);
  }

  async #thisOne(name: string, { fence }: Entry): Promise<boolean> {
    const compare = [created(name, String(fence))];
    const { reply, repeated } = await this.requests.txn({ compare, success: [remove(name)] });
    return told(reply.succeeded, repeated);
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
  async #withWhatIsOnItsWay(
    name: string,
    owner: string,
    entry: Entry | undefined,
    session: EtcdSession,
  ): Promise<boolean> {
    const mark = put(this.names.session(session.lease), '', session.lease);
    // What is removed by its name alone is that of an owner that does not come again.
    const removed = [remove(name), mark];
    const compare = [entry ? created(name, String(entry.fence)) : modified(name, '0')];
    try {
      const { reply, repeated } = await this.requests.txn({
        compare,
        success: removed,
        failure: entry ? [mark] : removed,
      });
      session.raiseEpoch(reply.header.revision);
      return told(reply.succeeded === (entry !== undefined), repeated && entry !== undefined);
    } catch (error) {
      if (!isLeaseGone(error)) throw error;
      // Nothing that was bound to the lease can be carried out any more.
      session.endByEtcd();
      return this.leave(name, owner, entry);
    }
  }
}

/** One of several tries may have removed it, or somebody else: nobody can tell. */
function told(stood: boolean, repeated: boolean): boolean {
  if (stood || !repeated) return stood;
  throw new LockUnavailableError('etcd did not say whether the entry that was to be removed still stood');
}
