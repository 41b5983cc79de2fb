import { LockUnavailableError } from '../../errors/index.js';
import { slotOf } from './cluster.slots.js';
import { IoredisDriver } from './ioredis.driver.js';
import { RoamingConnection } from './ioredis-roaming.js';
import { OWN_CONNECTION, retryStrategy } from './client.options.js';
import type { IoredisClient, IoredisCluster } from './redis.client.js';
import type { ConnectionListener, RedisDriver, RedisNode, RedisSubscriber } from './redis.driver.js';
import { listenTo } from './redis.listen.js';
import { Subscriptions } from './redis.subscriptions.js';

/** A `Cluster` of ioredis: one of our own, set up like the user's. Its library follows slots that move. */
export class IoredisClusterDriver implements RedisDriver {
  readonly clustered = true;
  readonly ordered = false;
  readonly advice = 'it was closed';
  readonly #client: IoredisCluster;
  #first = '';

  constructor(template: IoredisCluster) {
    const { redisOptions } = template.options as { redisOptions?: object };
    this.#client = template.duplicate([], {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      // Whoever sent a command gives it up after a second: it must not be carried out much later.
      maxRedirections: 6,
      redisOptions: { ...redisOptions, ...OWN_CONNECTION },
    }) as IoredisCluster;
    // Told by the requests that fail.
    this.#client.on('error', () => undefined);
  }

  get address(): string {
    this.#first ||= addressOf(this.#client.nodes('master')[0]) ?? '';
    return this.#first ? `${this.#first} and its cluster` : 'a cluster';
  }

  get status(): string {
    return this.#client.status;
  }

  get ready(): boolean {
    return this.#client.status === 'ready';
  }

  get ended(): boolean {
    return this.#client.status === 'end';
  }

  start(): void {
    if (this.#client.status === 'wait') this.#client.connect().catch(() => undefined);
  }

  listen(listener: ConnectionListener): () => void {
    return listenTo(this.#client, listener);
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalsha(sha, keys.length, ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, keys.length, ...keys, ...args);
  }

  node(key: string): Promise<RedisNode> {
    const slot = slotOf(key);
    const address = this.#client.slots[slot]?.[0];
    const client = this.#client.nodes('master').find((node) => addressOf(node) === address);
    if (client) return Promise.resolve(new IoredisDriver(client));
    this.relocate();
    return Promise.reject(new LockUnavailableError(`redis at ${this.address}: no node is known for slot ${slot}`));
  }

  relocate(): void {
    this.#client.refreshSlotsCache();
  }

  subscriber(): RedisSubscriber {
    const connection = new RoamingConnection(this.#client);
    const subscriptions = new Subscriptions(connection);
    connection.on('message', (channel, message) => subscriptions.receive(String(channel), String(message)));
    return subscriptions;
  }

  quit(): Promise<unknown> {
    return this.#client.quit();
  }

  destroy(): void {
    this.#client.disconnect();
  }
}

function addressOf(node: IoredisClient | undefined): string | undefined {
  if (!node) return undefined;
  const { host, port } = node.options as { host?: string; port?: number };
  return `${host}:${port}`;
}
