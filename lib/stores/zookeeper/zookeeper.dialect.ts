import type { HolderInfo, StoreGuarantees, StoreInspection } from '../../contract/index.js';
import { LockUnavailableError, type LockError } from '../../errors/index.js';
import type { EntryHold } from '../shared/queue/entry.hold.js';
import type { Entered, Place, QueueClaim, QueueDialect } from '../shared/queue/queue.dialect.js';
import { EntryWatch } from './entry.watch.js';
import { Access } from './zookeeper.access.js';
import { ZookeeperEntry } from './zookeeper.entry.js';
import { codeOf, isUnknown, unavailable, ZK } from './zookeeper.errors.js';
import { Ledger } from './zookeeper.ledger.js';
import type { Link } from './zookeeper.link.js';
import { entryData, entryPrefix, keyNode, labelIn, queueOf, type EntryName } from './zookeeper.names.js';
import type { ZookeeperSettings } from './zookeeper.options.js';
import { Parents } from './zookeeper.parents.js';
import { freshQueueAt, queueAt, removeAt, unlessGone } from './zookeeper.reads.js';
import { makeRoot, probeRoot } from './zookeeper.root.js';
import type { ZookeeperSession } from './zookeeper.session.js';

const GUARANTEES: StoreGuarantees = Object.freeze({
  ownership: true,
  // The number of the change that put an entry into its queue: who waited long for another key may have the smaller one.
  fencing: 'per-key',
  survivesFailover: true,
  fifo: true,
  reach: 'network',
  expiry: 'session',
  wakeUp: 'push',
});

// How often a node is made again that others remove at the same time.
const MOST_TRIES = 5;

/** A queue in ZooKeeper: the ephemeral, sequential children of a key's node. */
export class ZookeeperDialect implements QueueDialect<ZookeeperSession> {
  readonly name = 'zookeeper';
  readonly guarantees = GUARANTEES;

  readonly #access: Access;
  readonly #watch: EntryWatch;
  readonly #parents = new Parents();
  readonly #ledger = new Ledger();
  readonly #settling = new Map<string, Promise<unknown>>();

  constructor(private readonly settings: ZookeeperSettings) {
    this.#access = new Access(settings, {
      over: (holds) => this.#over(holds),
      alive: () => this.#settle(),
    });
    this.#watch = new EntryWatch(this.#access, (entry) => this.#gone(entry));
  }

  async open(): Promise<void> {
    const { root } = this.settings;
    await this.#access.open(async (link) => {
      await makeRoot(link, root);
      await probeRoot(link, root);
    });
  }

  session(): Promise<ZookeeperSession> {
    return this.#access.session();
  }

  async enter(session: ZookeeperSession, claim: QueueClaim): Promise<Entered> {
    await this.#settling.get(claim.owner);
    const link = await this.#access.ready(session);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const standing = await this.#standing(session, claim);
      if (standing) {
        const place = await this.look(session, claim, standing);
        if (place.kind !== 'gone') return { entry: standing, place };
      } else {
        const appended = await this.#append(link, claim);
        if (appended) return this.#seen(session, claim, appended.entry, appended.queue);
      }
    }
    throw new LockUnavailableError(`zookeeper at ${link.address}: nodes that were made vanish`);
  }

  async look(session: ZookeeperSession, claim: QueueClaim, { id }: { readonly id: string }): Promise<Place> {
    const entry = this.#ledger.entries.get(claim.owner);
    if (entry?.id !== id) return { kind: 'gone' };
    return this.#access.reading(session, async (link) => {
      const [stands, queue] = await Promise.all([this.#watch.read(link, entry), queueAt(link, entry.parent)]);
      if (stands) return this.#place(link, entry, queue);
      this.#ledger.doubt(entry);
      return { kind: 'gone' };
    });
  }

  async watch(session: ZookeeperSession, key: string, ahead: string, ring: () => void): Promise<() => void> {
    return this.#access.reading(session, async (link) => {
      const read = await unlessGone(link.watches.read(`${this.#parent(key)}/${ahead}`, ring));
      if (read) return read.stop;
      ring();
      return () => undefined;
    });
  }

  async leave(key: string, owner: string): Promise<boolean> {
    const entry = this.#ledger.entries.get(owner);
    if (entry) this.#watch.leaving(entry);
    try {
      const stood = await this.#leave(key, owner, entry);
      this.#ledger.forget(owner);
      return stood;
    } catch (error) {
      this.#ledger.owed.set(owner, key);
      throw error;
    }
  }

  async inspect(key: string): Promise<StoreInspection | undefined> {
    return this.#access.reading(undefined, async (link) => {
      const queue = await freshQueueAt(link, this.#parent(key));
      for (const [index, { owner, name }] of queue.entries()) {
        const node = await unlessGone(link.calls.data(`${this.#parent(key)}/${name}`));
        if (!node) continue;
        const fence = node.stat.czxid.readBigInt64BE();
        return { owner, fence, label: labelIn(node.data), waiters: queue.length - index - 1 };
      }
      return undefined;
    });
  }

  async forceRelease(key: string): Promise<boolean> {
    const link = await this.#access.ready();
    const [first] = await freshQueueAt(link, this.#parent(key));
    return first !== undefined && removeAt(link, `${this.#parent(key)}/${first.name}`);
  }

  async close(): Promise<void> {
    await this.#access.close(async (link) => {
      // The session goes on, and with it whatever is not taken back.
      const entries = [...this.#ledger.entries.values()];
      for (const entry of entries) this.#watch.leaving(entry);
      await Promise.allSettled(entries.map(({ path }) => removeAt(link, path)));
    });
    this.#dropEnded();
  }

  toLockError(error: unknown): LockError {
    return unavailable(this.#access.address, error);
  }

  /** The path of an owner's entry, below the chroot. */
  pathOf(owner: string): string | undefined {
    return this.#ledger.entries.get(owner)?.path;
  }

  #parent(key: string): string {
    return `${this.settings.root}/${keyNode(key)}`;
  }

  /** An entry that the owner has in this session already. */
  async #standing(session: ZookeeperSession, { key, owner }: QueueClaim): Promise<ZookeeperEntry | undefined> {
    const known = this.#ledger.entries.get(owner);
    if (known?.sessionId === session.id && !known.leaving) return known;
    if (!this.#ledger.mayStand(owner)) return undefined;
    const parent = this.#parent(key);
    return this.#access.reading(session, async (link) => {
      let found: ZookeeperEntry | undefined;
      for (const { name } of (await freshQueueAt(link, parent)).filter((entry) => entry.owner === owner)) {
        const entry = new ZookeeperEntry(parent, name, owner, session.id);
        // Only one of this very session stands for as long as the session does. Any other is removed.
        if (!found && (await this.#watch.read(link, entry))) found = entry;
        else await removeAt(link, entry.path);
      }
      this.#ledger.forget(owner);
      if (found) this.#ledger.entries.set(owner, found);
      return found;
    });
  }

  /**
   * Appends an entry and reads the queue, in one round trip. `undefined`: the node of the key has gone meanwhile.
   *
   * What is read is behind one's own create, on the same connection: the server has carried the create out before it answers, and with it everything that
   * the leader had put before it, also when it lags behind otherwise. So no entry that came earlier and stands can be missing. One that has gone since may
   * be listed still: it is then watched, and found gone.
   */
  async #append(link: Link, { key, owner, label }: QueueClaim) {
    const parent = this.#parent(key);
    const { calls } = link;
    this.#ledger.appending.add(owner);
    const making = this.#parents.has(parent) ? undefined : calls.createContainer(parent);
    const appending = calls.append(`${parent}/${entryPrefix(owner)}`, entryData(label, key));
    const [made, appended, listed] = await Promise.allSettled([making, appending, calls.children(parent)]);
    this.#ledger.appending.delete(owner);
    if (appended.status === 'rejected') {
      if (codeOf(appended.reason) === ZK.noNode) {
        this.#parents.forget(parent);
        if (made.status === 'rejected') await this.#unmade(link, made.reason);
        return undefined;
      }
      if (isUnknown(appended.reason)) this.#ledger.unsure.add(owner);
      throw appended.reason;
    }
    const { path, stat } = appended.value;
    const entry = new ZookeeperEntry(parent, path.slice(path.lastIndexOf('/') + 1), owner, link.sessionId);
    if (stat) entry.fence = stat.czxid.readBigInt64BE();
    this.#ledger.entries.set(owner, entry);
    if (listed.status === 'rejected') throw listed.reason;
    return { entry, queue: queueOf(listed.value) };
  }

  /** Sees to it that a key's node can be made, or says why not. */
  async #unmade(link: Link, reason: unknown): Promise<void> {
    const code = codeOf(reason);
    if (code === ZK.noNode) await makeRoot(link, this.settings.root);
    else if (code !== ZK.nodeExists) throw reason;
  }

  /** What `enter()` has found. */
  async #seen(
    session: ZookeeperSession,
    { wait, key, owner }: QueueClaim,
    entry: ZookeeperEntry,
    queue: readonly EntryName[],
  ): Promise<Entered> {
    if (!wait && queue[0]?.name !== entry.id) {
      const holder = this.#holder(session.link, entry.parent, queue);
      await Promise.all([this.leave(key, owner), holder]);
      return { entry: undefined, holder: await holder };
    }
    return this.#access.reading(session, async (link) => {
      const [stands, place] = await Promise.all([this.#isNew(link, entry), this.#place(link, entry, queue)]);
      return { entry, place: stands && entry.sessionId === session.id ? place : { kind: 'gone' } };
    });
  }

  #isNew(link: Link, entry: ZookeeperEntry): boolean | Promise<boolean> {
    if (entry.fence === 0n) return this.#watch.read(link, entry);
    this.#watch.later(entry);
    return true;
  }

  async #place(link: Link, entry: ZookeeperEntry, queue: readonly EntryName[]): Promise<Place> {
    const index = queue.findIndex(({ name }) => name === entry.id);
    const ahead = queue[index - 1];
    if (!ahead) return { kind: index === 0 ? 'first' : 'gone' };
    return { kind: 'behind', ahead: ahead.name, holder: await this.#holder(link, entry.parent, queue) };
  }

  /** Who is first, as far as it can be told. */
  async #holder(link: Link, parent: string, [first]: readonly EntryName[]): Promise<HolderInfo | undefined> {
    const node = first && (await unlessGone(link.calls.data(`${parent}/${first.name}`)).catch(() => undefined));
    if (!node) return undefined;
    // One of this very session that is nobody's would stand in everybody's way for as long as the session lives. Nothing that is known to go wrong
    // leaves such an entry. In a session that is not ours alone it may be another store's.
    const ours = link.owned && node.stat.ephemeralOwner.toString('hex') === link.sessionId;
    if (ours && this.#ledger.isStray(first.owner, first.name)) {
      removeAt(link, `${parent}/${first.name}`).catch(() => undefined);
    }
    const label = labelIn(node.data);
    return label === undefined ? undefined : { label };
  }

  async #leave(key: string, owner: string, entry: ZookeeperEntry | undefined): Promise<boolean> {
    const link = await this.#access.ready();
    if (entry && !this.#ledger.unsure.has(owner)) {
      const stood = await removeAt(link, entry.path);
      this.#parents.used(entry.parent, link);
      // One of an earlier session counted as lost long ago.
      return stood && entry.sessionId === link.sessionId;
    }
    // Sent behind whatever was sent for this owner, on whichever connection: the server carries a session's requests out in their order, and those
    // of a connection that the session has left no more.
    const parent = this.#parent(key);
    const own = (await freshQueueAt(link, parent)).filter((other) => other.owner === owner);
    return (await Promise.all(own.map(({ name }) => removeAt(link, `${parent}/${name}`)))).includes(true);
  }

  /** Somebody else has removed an entry. */
  #gone(entry: ZookeeperEntry): void {
    this.#ledger.doubt(entry);
    for (const hold of this.#access.current?.holds ?? []) {
      if (hold.owner === entry.owner) hold.lose(new Error('its entry was removed, by force or by hand'));
    }
  }

  /** The holders have been told: where the server still keeps their session, their entries must not stand in the way of others. */
  #over(holds: readonly EntryHold[]): void {
    for (const { key, owner } of holds) this.#ledger.owed.set(owner, key);
    if (this.#access.current?.link.ended) this.#dropEnded();
  }

  #dropEnded(): void {
    this.#ledger.clear();
    this.#watch.clear();
  }

  /** Makes up for what could not be removed. */
  #settle(): void {
    for (const [owner, key] of this.#ledger.owed) {
      if (this.#settling.has(owner)) continue;
      const settled = this.leave(key, owner)
        .catch(() => undefined)
        .finally(() => this.#settling.delete(owner));
      this.#settling.set(owner, settled);
    }
  }
}
