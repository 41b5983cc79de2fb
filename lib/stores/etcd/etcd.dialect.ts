import type { StoreGuarantees, StoreInspection } from '../../contract/index.js';
import { LockUnavailableError, type LockError } from '../../errors/index.js';
import { Opened } from '../shared/opened.js';
import type { Entered, Entry, Place, QueueClaim, QueueDialect } from '../shared/queue/queue.dialect.js';
import { EtcdEntries, entryWith } from './etcd.entries.js';
import { unavailable, unreached } from './etcd.errors.js';
import { EtcdNames, makerOf } from './etcd.names.js';
import type { EtcdSettings } from './etcd.options.js';
import { ownClients } from './etcd.own-clients.js';
import { probe } from './etcd.probe.js';
import { EtcdRequests } from './etcd.requests.js';
import { EtcdRoutes } from './etcd.routes.js';
import type { EtcdSession } from './etcd.session.js';
import { EtcdSessions } from './etcd.sessions.js';
import { counted, created, first, found, remove } from './etcd.txn.js';
import { EtcdWatches } from './etcd.watches.js';

const GUARANTEES: StoreGuarantees = Object.freeze({
  ownership: true,
  fencing: 'per-key',
  survivesFailover: true,
  fifo: true,
  reach: 'network',
  expiry: 'session',
  wakeUp: 'push',
});

// The holder may change between two requests, but not for ever.
const MOST_TRIES = 20;

/** Everything that is there from a successful open() to close(). */
interface Connection {
  readonly requests: EtcdRequests;
  readonly sessions: EtcdSessions;
  readonly entries: EtcdEntries;
  readonly watches: EtcdWatches;
}

/** Queues of entries in etcd, in the order of their create revisions. */
export class EtcdDialect implements QueueDialect<EtcdSession> {
  readonly name = 'etcd';
  readonly guarantees = GUARANTEES;
  readonly #names: EtcdNames;
  readonly #opened: Opened<Connection>;

  constructor(private readonly settings: EtcdSettings) {
    this.#names = new EtcdNames(settings.prefix);
    this.#opened = new Opened({
      name: this.name,
      make: () => this.#connect(),
      end: async ({ sessions, watches, requests }, closed) => {
        await sessions.close(closed);
        watches.close();
        requests.close(closed);
        requests.routes.close();
      },
    });
  }

  open(): Promise<void> {
    return this.#opened.open();
  }

  session(ttl: number): Promise<EtcdSession> {
    return this.#opened.get().sessions.get(ttl);
  }

  enter(session: EtcdSession, claim: QueueClaim): Promise<Entered> {
    return this.#opened.get().entries.enter(session, claim);
  }

  look(session: EtcdSession, claim: QueueClaim, entry: Entry): Promise<Place> {
    return this.#opened.get().entries.look(session, claim, entry);
  }

  watch(_session: EtcdSession, _key: string, ahead: string, ring: () => void, seen?: string): Promise<() => void> {
    const { name, revision } = entryWith(ahead);
    return Promise.resolve(this.#opened.get().watches.add(name, BigInt(seen ?? revision), ring));
  }

  /** The name of the entry that an owner has, or is about to have. */
  entryOf(owner: string): string | undefined {
    return this.#opened.get().sessions.membershipsOf(owner).at(-1)?.member.name;
  }

  leave(_key: string, owner: string): Promise<boolean> {
    return this.#opened.get().sessions.removal.leave(owner);
  }

  async inspect(key: string): Promise<StoreInspection | undefined> {
    const { requests } = this.#opened.get();
    const { reply } = await requests.txn({ success: [first(this.#names.queue(key))] });
    const holder = found(reply, 0);
    if (holder === undefined) return undefined;
    const { reply: lease } = await requests.ask((client, options) =>
      client.leaseClient.leaseTimeToLive({ ID: holder.lease, keys: false }, options),
    );
    const remaining = Number(lease.TTL) * 1_000;
    const { owner, label } = makerOf(holder.value);
    return {
      owner: owner ?? String(holder.key),
      label,
      remaining: remaining > 0 ? remaining : undefined,
      waiters: counted(reply, 0) - 1,
      fence: BigInt(holder.create_revision),
    };
  }

  async forceRelease(key: string): Promise<boolean> {
    const { requests } = this.#opened.get();
    for (let tries = MOST_TRIES; tries > 0; tries -= 1) {
      const { reply } = await requests.txn({ success: [first(this.#names.queue(key))] });
      const holder = found(reply, 0);
      if (holder === undefined) return false;
      const name = String(holder.key);
      const compare = [created(name, holder.create_revision)];
      const removal = await requests.txn({ compare, success: [remove(name)] });
      // Without an answer to the first of several tries, that one has done it, or the holder itself.
      if (removal.reply.succeeded || removal.repeated) return true;
    }
    throw new LockUnavailableError('etcd: the holder has changed at every try to remove it');
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  toLockError(error: unknown): LockError {
    return unavailable(this.#opened.current?.requests.routes.address ?? 'its hosts', error);
  }

  async #connect(): Promise<Connection> {
    const { source, commandTimeout, connectTimeout, pollInterval } = this.settings;
    const routes =
      'client' in source
        ? EtcdRoutes.given(source.client)
        : EtcdRoutes.own(source.hosts, await ownClients(source, commandTimeout));
    const requests = new EtcdRequests(routes, commandTimeout);
    try {
      await probe(requests, this.#names, connectTimeout);
    } catch (error) {
      routes.close();
      throw unreached(routes.address, connectTimeout, error);
    }
    const watches = new EtcdWatches(routes, { interval: pollInterval, timeout: commandTimeout });
    const sessions = new EtcdSessions(requests, this.#names, watches, commandTimeout);
    return {
      requests,
      sessions,
      entries: new EtcdEntries(requests, this.#names, sessions.removal),
      watches,
    };
  }
}
