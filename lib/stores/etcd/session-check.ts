import type { EntryHold } from '../shared/queue/entry.hold.js';
import type { EntryRemoval } from './entry-removal.js';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import type { EtcdSession } from './etcd.session.js';
import { created, found, get, remove } from './etcd.txn.js';

// etcd takes up to 128 operations in a transaction.
const AT_ONCE = 100;

/** A hold whose entry may be gone. */
interface Suspect {
  readonly hold: EntryHold;
  readonly name: string;
}

/**
 * Compares what stands under a session with what should: a hold whose entry somebody has removed is told that it is lost, and an
 * entry whose owner has gone is removed, because nobody else would as long as the session lives.
 */
export class SessionCheck {
  #running = false;

  constructor(
    private readonly session: EtcdSession,
    private readonly requests: EtcdRequests,
    private readonly names: EtcdNames,
    private readonly removal: EntryRemoval,
  ) {}

  async run(): Promise<void> {
    if (this.#running || this.session.ended) return;
    this.#running = true;
    try {
      await this.#run();
    } catch {
      // The next one is not far.
    } finally {
      this.#running = false;
    }
  }

  async #run(): Promise<void> {
    const { session } = this;
    const held = [...session.holds];
    const { reply } = await this.requests.ask((client, options) =>
      client.leaseClient.leaseTimeToLive({ ID: session.lease, keys: true }, options),
    );
    const standing = new Set(reply.keys.map(String));
    // The leader's word, which may be a moment old: reason enough to look, no more.
    const suspects = held.flatMap((hold) => this.#suspect(hold, standing));
    for (let from = 0; from < suspects.length; from += AT_ONCE)
      await this.#confirm(suspects.slice(from, from + AT_ONCE));
    for (const member of session.members.values()) {
      // Whoever asked for it may have given up long ago. A removal that is under way must not find its work done by another.
      // What the owner has under another session is none of this one's.
      if (member.owed) await this.removal.end({ session, member }).catch(() => undefined);
    }
    standing.delete(this.names.session(session.lease));
    for (const name of standing) if (!session.uses(name)) await this.#remove(name);
  }

  #suspect(hold: EntryHold, standing: ReadonlySet<string>): Suspect[] {
    const member = this.session.members.get(hold.owner);
    if (member === undefined || member.leaving) return [];
    // What stands there may be what a late request to enter has made, where somebody has removed the entry of the hold.
    return member.unsure || !standing.has(member.name) ? [{ hold, name: member.name }] : [];
  }

  async #confirm(suspects: readonly Suspect[]): Promise<void> {
    const { session } = this;
    const { reply } = await this.requests.txn({ success: suspects.map(({ name }) => get(name)) });
    for (const [index, { hold }] of suspects.entries()) {
      if (found(reply, index)?.create_revision === String(hold.fence)) continue;
      // It may have been given back while the question was under way.
      const member = session.members.get(hold.owner);
      if (session.holds.has(hold) && member?.leaving === false) {
        hold.lose(new Error('somebody has removed its entry from etcd'));
      }
    }
  }

  async #remove(name: string): Promise<void> {
    const { reply } = await this.requests.txn({ success: [get(name)] });
    const entry = found(reply, 0);
    if (entry === undefined || entry.lease !== this.session.lease || this.session.uses(name)) return;
    await this.requests.txn({ compare: [created(name, entry.create_revision)], success: [remove(name)] });
  }
}
