import { systemClock, type Timer } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { codeOf, isUnknown, ZK } from './zookeeper.errors.js';
import type { ClientCalls, NodeEvent, Stat, ZookeeperAcl } from './zookeeper.client.js';
import { creatingContainers, tellingStats, withoutRetries, type Created } from './zookeeper.facades.js';

const PERSISTENT = 0;
const EPHEMERAL = 1;
const EPHEMERAL_SEQUENTIAL = 3;
const CONTAINER = 4;

export interface NodeData {
  readonly data: Buffer | undefined;
  readonly stat: Stat;
}

/**
 * The requests of a client, each bounded in time. They are sent in the order of the calls, at once: what calls them sees to it that the
 * client is connected, because it would queue them without a bound, also ahead of its own credentials.
 */
export class Calls {
  readonly #client: ClientCalls;
  readonly #containers: ClientCalls;
  readonly #appending: ClientCalls;

  constructor(
    client: ClientCalls,
    private readonly address: string,
    /** ms that one request may take. */
    private readonly timeout: number,
    private readonly acl: readonly ZookeeperAcl[] | undefined,
  ) {
    this.#client = withoutRetries(client);
    this.#containers = creatingContainers(this.#client);
    this.#appending = tellingStats(this.#client);
  }

  /** Appends an entry to a queue. Its path may be with the chroot or without it. */
  async append(prefix: string, data: Buffer): Promise<Created> {
    const created = await this.#send<string | Created>((done) =>
      this.#appending.create(prefix, data, this.acl, EPHEMERAL_SEQUENTIAL, done),
    );
    return typeof created === 'string' ? { path: created, stat: undefined } : created;
  }

  createEphemeral(path: string): Promise<unknown> {
    return this.#send((done) => this.#client.create(path, Buffer.alloc(0), this.acl, EPHEMERAL, done));
  }

  createPersistent(path: string): Promise<unknown> {
    return this.#send((done) => this.#client.create(path, Buffer.alloc(0), this.acl, PERSISTENT, done));
  }

  /** A node that the server removes by itself once it has had children and has none any more. */
  createContainer(path: string): Promise<unknown> {
    return this.#send((done) => this.#containers.create(path, Buffer.alloc(0), this.acl, CONTAINER, done));
  }

  children(path: string): Promise<readonly string[]> {
    return this.#send((done) => this.#client.getChildren(path, undefined, done));
  }

  /** Not exists(): asked about a node that is gone, that would watch for its coming, which never comes. */
  data(path: string, watcher?: (event: NodeEvent) => void): Promise<NodeData> {
    return this.#send((done) =>
      this.#client.getData(path, watcher, (error, data, stat) => done(error, { data, stat })),
    );
  }

  remove(path: string): Promise<unknown> {
    return this.#send((done) => this.#client.remove(path, -1, (error) => done(error, undefined)));
  }

  /**
   * A write that changes nothing. It goes through the leader and a majority, so that its answer says that this session is alive *there*, and what is
   * read behind it on the same connection is no older than it. The library has no `sync`, which promises less.
   */
  async barrier(timeout = this.timeout): Promise<void> {
    try {
      await this.#send<unknown>(
        (done) =>
          this.#client
            .transaction()
            .check('/', -1)
            .commit((error) => done(error, undefined)),
        timeout,
      );
    } catch (error) {
      // A refusal has gone the same way.
      if (isUnknown(error) || codeOf(error) === ZK.sessionExpired) throw error;
    }
  }

  #send<T>(
    start: (done: (error: Error | null | undefined, value: T) => void) => void,
    timeout = this.timeout,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let settled = false;
      let timer: Timer | undefined = undefined;
      const done = (error: Error | null | undefined, value?: T): void => {
        if (settled) return;
        settled = true;
        timer?.cancel();
        if (error) reject(error);
        else resolve(value as T);
      };
      timer = systemClock.after(timeout, () => {
        // A process that was blocked runs its timers before it reads: what has come in by now is heard first.
        setImmediate(() => done(this.#unanswered(timeout)));
      });
      try {
        start(done);
      } catch (error) {
        done(error as Error);
      }
    });
  }

  #unanswered(timeout: number): LockUnavailableError {
    return new LockUnavailableError(`zookeeper at ${this.address} gave no answer within ${timeout} ms`);
  }
}
