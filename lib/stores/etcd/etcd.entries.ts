import { setTimeout as sleep } from 'node:timers/promises';
import type { HolderInfo } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { Entered, Entry, Place, QueueClaim } from '../shared/queue/queue.dialect.js';
import type { EtcdKeyValue, EtcdTxnReply } from './etcd.client.js';
import { isLeaseGone } from './etcd.errors.js';
import { entryValue, makerOf, type EtcdNames } from './etcd.names.js';
import { mayStillHappen, type EtcdRequests } from './etcd.requests.js';
import { SESSION_END_NOTICE, type EtcdSession, type Member } from './etcd.session.js';
import { created, empty, first, found, get, lastBefore, modified, put, remove } from './etcd.txn.js';
import type { EntryRemoval } from './entry-removal.js';

// Others may come and go between two requests, but not for ever.
const MOST_TRIES = 20;

const FIRST: Place = { kind: 'first' };

/** What is asked of one request to enter: `alone` where nobody stands yet, or as the last of all. */
type As = 'alone' | 'last';

/** Puts entries into the queues of keys, and tells where they stand. */
export class EtcdEntries {
  constructor(
    private readonly requests: EtcdRequests,
    private readonly names: EtcdNames,
    private readonly removal: EntryRemoval,
  ) {}

  async enter(session: EtcdSession, claim: QueueClaim): Promise<Entered> {
    for (const membership of this.removal.useless(claim.owner, session)) await this.removal.end(membership);
    const member = session.join(claim.owner, claim.key, this.names);
    // Most keys are free. Who waits comes again otherwise, as the last one; who does not is told in the same answer who has it.
    let as: As = 'alone';
    for (let tries = MOST_TRIES; tries > 0; tries -= 1) {
      const reply = await this.#tryToEnter(session, claim, member, as);
      if (reply.succeeded) {
        const entry = entryOf(member.name, reply.header.revision);
        member.entry = entry;
        return as === 'alone' ? { entry, place: FIRST } : await this.#placed(session, claim, entry, found(reply, 1));
      }
      if (as === 'last' || !claim.wait) {
        const entered = await this.#refused(session, claim, member, reply);
        if (entered) return entered;
      }
      if (claim.wait) as = 'last';
    }
    throw new LockUnavailableError('etcd: the queue has changed at every try to enter it');
  }

  async look(session: EtcdSession, claim: QueueClaim, entry: Entry): Promise<Place> {
    const { fence } = entry;
    const range = this.names.queue(claim.key);
    const member = session.members.get(claim.owner);
    const watched = member?.aheadLease;
    const success = [get(entryWith(entry.id).name), first(range), lastBefore(range, fence)];
    if (watched) success.push(get(this.names.session(watched)));
    const { reply } = await this.requests.txn({ success });
    const own = found(reply, 0);
    if (own?.create_revision !== String(fence) || own.lease !== session.lease) return { kind: 'gone' };
    const ahead = found(reply, 2);
    if (member) member.aheadLease = ahead?.lease;
    if (ahead === undefined) {
      if (watched && found(reply, 3) === undefined) {
        // It was not given back, but has gone with its session: whoever held under that is about to hear of it.
        await sleep(SESSION_END_NOTICE);
        return this.look(session, claim, entry);
      }
      return FIRST;
    }
    const { id } = entryOf(String(ahead.key), ahead.create_revision);
    return { kind: 'behind', ahead: id, holder: holderOf(found(reply, 1)), seen: reply.header.revision };
  }

  /**
   * Comes to the same however often it is carried out: it makes an entry only where the owner has none, and only until the
   * session's epoch has changed.
   */
  async #tryToEnter(session: EtcdSession, claim: QueueClaim, member: Member, as: As): Promise<EtcdTxnReply> {
    const range = this.names.queue(claim.key);
    const mark = this.names.session(session.lease);
    const entry = put(member.name, entryValue(claim), session.lease);
    const current = modified(mark, session.epoch);
    const others = [get(member.name), get(mark), first(range)];
    const request =
      as === 'alone'
        ? { compare: [current, empty(range)], success: [entry], failure: claim.wait ? [] : others }
        : { compare: [current, created(member.name, '0')], success: [entry, first(range)], failure: others };
    try {
      const { reply, repeated } = await this.requests.txn(request);
      member.unsure ||= repeated;
      return reply;
    } catch (error) {
      member.unsure ||= mayStillHappen(error);
      if (isLeaseGone(error)) session.endByEtcd();
      throw error;
    }
  }

  /** @param ahead the first of the queue; none: it is this one */
  async #placed(
    session: EtcdSession,
    claim: QueueClaim,
    entry: Entry,
    ahead: EtcdKeyValue | undefined,
  ): Promise<Entered> {
    if (ahead && ahead.create_revision !== String(entry.fence)) {
      return { entry, place: await this.look(session, claim, entry) };
    }
    return { entry, place: FIRST };
  }

  /** What to make of a refusal; `undefined`: try again. */
  async #refused(
    session: EtcdSession,
    claim: QueueClaim,
    member: Member,
    reply: EtcdTxnReply,
  ): Promise<Entered | undefined> {
    const own = found(reply, 0);
    session.raiseEpoch(found(reply, 1)?.mod_revision ?? '0');
    const holder = found(reply, 2);
    if (own === undefined) {
      if (claim.wait || holder === undefined) return undefined;
      // An earlier try of this request may have been carried out meanwhile.
      if (member.unsure && (await this.removal.bar(session, member.name))) return undefined;
      session.part(member);
      return { entry: undefined, holder: holderOf(holder) };
    }
    if (own.lease !== session.lease) {
      // It may end at any moment, with the session that it stands in.
      await this.requests.txn({ compare: [created(member.name, own.create_revision)], success: [remove(member.name)] });
      return undefined;
    }
    const entry = entryOf(member.name, own.create_revision);
    member.entry = entry;
    return this.#placed(session, claim, entry, holder);
  }
}

function entryOf(name: string, revision: string): Entry {
  return { id: `${revision}@${name}`, fence: BigInt(revision) };
}

/** The name and the revision that make up the id of an entry. */
export function entryWith(id: string): { readonly name: string; readonly revision: string } {
  const at = id.indexOf('@');
  return { revision: id.slice(0, at), name: id.slice(at + 1) };
}

function holderOf(entry: EtcdKeyValue | undefined): HolderInfo | undefined {
  const label = entry && makerOf(entry.value).label;
  return label === undefined ? undefined : { label };
}
