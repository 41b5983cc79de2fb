import { EventEmitter } from 'node:events';
import { systemClock, type Timer } from '../../contract/index.js';
import { isNodeRedisCluster, type NodeRedisGroup } from './redis.client.js';
import { retryStrategy } from './client.options.js';
import type { ConnectionListener, RedisDriver, RedisNode, RedisSubscriber } from './redis.driver.js';
import { listenTo } from './redis.listen.js';
import { NodeRedisDriver } from './node-redis.driver.js';
import { Subscriptions } from './redis.subscriptions.js';

interface Listening extends NodeRedisGroup {
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

// A connection that has not come about by then will not.
const PATIENCE = 10_000;

// One connection to the master: what is sent must be carried out in its order. Replicas are of no use to us.
const SENTINEL = { masterPoolSize: 1, replicaPoolSize: 0, reserveClient: false };

/**
 * What node-redis makes for several nodes, a sentinel or a cluster: one of our own, set up like the user's. It is connected here,
 * and again when that fails, since the library gives up.
 */
export class NodeRedisGroupDriver implements RedisDriver, RedisNode {
  readonly clustered: boolean;
  readonly ordered = false;
  readonly advice = 'it was closed';
  readonly #events = new EventEmitter();
  #client: Listening;
  #connecting = false;
  #destroyed = false;
  #pause: Timer | undefined;

  constructor(private readonly template: NodeRedisGroup) {
    this.clustered = isNodeRedisCluster(template);
    this.#events.setMaxListeners(0);
    this.#client = this.#make();
  }

  get address(): string {
    return this.clustered ? 'a cluster' : 'a sentinel';
  }

  get status(): string {
    if (this.ready) return 'ready';
    return this.#destroyed ? 'closed' : 'connecting';
  }

  get ready(): boolean {
    return !this.#destroyed && !this.#connecting && this.#client.isOpen && this.#client.isReady;
  }

  get ended(): boolean {
    return this.#destroyed;
  }

  start(): void {
    if (!this.#connecting && !this.#destroyed && !this.#client.isOpen) this.#connect(1);
  }

  listen(listener: ConnectionListener): () => void {
    return listenTo(this.#events, listener);
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalSha(sha, { keys: [...keys], arguments: [...args] });
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, { keys: [...keys], arguments: [...args] });
  }

  async node(key: string): Promise<RedisNode> {
    if (!this.#client.getNodeClientForKey) return this;
    return new NodeRedisDriver(await this.#client.getNodeClientForKey(key));
  }

  /** The library looks for the slots when a command that it routes itself is sent on, and not otherwise. */
  relocate(key: string): void {
    if (this.clustered) this.#client.sendCommand(key, false, ['GET', key]).catch(() => undefined);
  }

  /** To the master behind a sentinel. */
  command(...args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(false, [...args]);
  }

  // The library keeps a connection of its own for what it subscribes to, and subscribes anew where that ends.
  subscriber(): RedisSubscriber {
    const events = this.#events;
    const driver = this as { readonly ready: boolean };
    const receive = (message: string, channel: string): void => subscriptions.receive(channel, message);
    const subscriptions = new Subscriptions({
      get ready() {
        return driver.ready;
      },
      connect: () => this.start(),
      on: (event, listener) => events.on(event, listener),
      off: (event, listener) => events.off(event, listener),
      subscribe: (channel) => this.#client.subscribe(channel, receive),
      unsubscribe: (channel) => this.#client.unsubscribe(channel),
      // It ends with the client.
      destroy: () => undefined,
    });
    return subscriptions;
  }

  quit(): Promise<unknown> {
    return this.#client.close();
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#pause?.cancel();
    this.#events.emit('end');
    end(this.#client);
  }

  #make(): Listening {
    const client = this.template.duplicate(this.clustered ? {} : SENTINEL) as Listening;
    client.on('ready', () => this.#tell(client, 'ready'));
    client.on('error', (error) => this.#tell(client, 'error', error));
    return client;
  }

  #tell(client: Listening, event: 'ready' | 'error', error?: unknown): void {
    if (client !== this.#client) return;
    if (event === 'ready' || this.#events.listenerCount('error') > 0) this.#events.emit(event, error);
  }

  /** With a new client after each failure, one that does not settle included: what becomes of a half-made one is not known. */
  #connect(attempt: number): void {
    const client = this.#client;
    let over = false;
    const failed = (error: unknown): void => {
      if (over) return;
      over = true;
      patience.cancel();
      this.#tell(client, 'error', error);
      end(client);
      if (this.#destroyed) return;
      this.#client = this.#make();
      this.#pause = systemClock.after(retryStrategy(attempt), () => this.#connect(attempt + 1));
    };
    const patience = systemClock.after(PATIENCE, () => failed(new Error(`it has not connected within ${PATIENCE} ms`)));
    this.#connecting = true;
    client.connect().then(() => {
      // What has connected when nobody wants it any more would stay.
      if (over || this.#destroyed) {
        end(client);
        return;
      }
      over = true;
      patience.cancel();
      this.#connecting = false;
      this.#events.emit('ready');
    }, failed);
  }
}

function end(client: Listening): void {
  try {
    Promise.resolve(client.destroy()).catch(() => undefined);
  } catch {
    // It is closed already.
  }
}
