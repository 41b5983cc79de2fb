import { setTimeout as sleep } from 'node:timers/promises';
import { LockUnavailableError } from '../../errors/index.js';
import { closedError, notOpenError } from '../shared/store-state.js';
import { isConnected, type ClientCalls } from './zookeeper.client.js';
import { codeOf, ZK } from './zookeeper.errors.js';
import { Link } from './zookeeper.link.js';
import { kill } from './zookeeper.mending.js';
import type { ZookeeperSettings } from './zookeeper.options.js';
import { ownClient } from './zookeeper.own-client.js';
import { SessionKeeper, type KeeperEvents } from './session.keeper.js';
import type { ZookeeperSession } from './zookeeper.session.js';

/** ms between two readings. */
const PAUSE = 20;

/** The way to the servers: the client of the day, and its session. */
export class Access {
  readonly address: string;
  #keeper: SessionKeeper | undefined;
  #connecting: Promise<SessionKeeper> | undefined;
  #closed: LockUnavailableError | undefined;

  constructor(
    private readonly settings: ZookeeperSettings,
    private readonly events: KeeperEvents,
  ) {
    const { source } = settings;
    this.address = 'client' in source ? addressOf(source.client as ClientCalls) : source.connectionString;
  }

  /** The session of now, or the last one. */
  get current(): ZookeeperSession | undefined {
    return this.#keeper?.current;
  }

  /** Connects and tries it out with `probe`; leaves nothing behind when one of these fails. */
  async open(probe: (link: Link) => Promise<void>): Promise<void> {
    if (this.#closed) throw this.#closed;
    if (this.#keeper) return;
    const keeper = await this.#connect();
    try {
      await keeper.session(this.settings.connectTimeout);
      await probe(keeper.link);
    } catch (error) {
      this.#keeper = undefined;
      await keeper.link.close(new LockUnavailableError(`zookeeper at ${this.address} could not be opened`));
      throw error;
    }
  }

  async session(): Promise<ZookeeperSession> {
    const keeper = await this.#present();
    return keeper.session(this.settings.commandTimeout);
  }

  /** The link, once it is connected: that of `session`, if one is given. */
  async ready(session?: ZookeeperSession): Promise<Link> {
    const { link } = session ?? (await this.#present());
    await link.ready();
    return link;
  }

  /** Reads again when the connection has gone meanwhile, which is soon back. */
  async reading<T>(session: ZookeeperSession | undefined, read: (link: Link) => Promise<T>): Promise<T> {
    const end = performance.now() + this.settings.commandTimeout;
    for (;;) {
      const link = await this.ready(session);
      try {
        return await read(link);
      } catch (error) {
        if (codeOf(error) !== ZK.connectionLoss || performance.now() > end) throw error;
      }
      // A client may refuse at once and call itself connected: only a turn of the event loop lets it hear of the end of its connection.
      await sleep(PAUSE);
    }
  }

  /** @param cleanUp takes back what stands in a session that is not ours to end */
  async close(cleanUp: (link: Link) => Promise<void>): Promise<void> {
    this.#closed = closedError('zookeeper');
    const keeper = this.#keeper ?? (await this.#connecting?.catch(() => undefined));
    if (!keeper) return;
    if ('client' in this.settings.source && keeper.link.connected) await cleanUp(keeper.link);
    await keeper.link.close(this.#closed);
  }

  async #present(): Promise<SessionKeeper> {
    if (this.#closed) throw this.#closed;
    const keeper = this.#keeper;
    if (!keeper) throw notOpenError('zookeeper');
    const { ended } = keeper.link;
    if (!ended) return keeper;
    if (!this.#hasClient()) throw ended;
    return this.#connect();
  }

  /** Whether there is one for a new session: our own can be made, yours has to be connected again. */
  #hasClient(): boolean {
    const { source } = this.settings;
    return !('client' in source) || isConnected(source.client as ClientCalls);
  }

  /** A new session needs a new client: the library's has only one. */
  async #connect(): Promise<SessionKeeper> {
    this.#connecting ??= this.#newKeeper().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #newKeeper(): Promise<SessionKeeper> {
    const { source, tickTime } = this.settings;
    const owned = !('client' in source);
    const client = owned ? await ownClient(source) : (source.client as ClientCalls);
    if (this.#closed) {
      if (owned) kill(client);
      throw this.#closed;
    }
    this.#keeper = new SessionKeeper(new Link(client, this.address, owned, this.settings), tickTime, this.events);
    return this.#keeper;
  }
}

function addressOf(client: ClientCalls): string {
  const manager = client.connectionManager as { connectionStringParser?: { connectionString?: unknown } } | undefined;
  const text = manager?.connectionStringParser?.connectionString;
  return typeof text === 'string' ? text : 'the given client';
}
