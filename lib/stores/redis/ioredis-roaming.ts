import { EventEmitter } from 'node:events';
import { systemClock, type Timer } from '../../contract/index.js';
import { LISTENING, retryStrategy } from './client.options.js';
import type { IoredisClient, IoredisCluster } from './redis.client.js';
import type { ListeningConnection } from './redis.subscriptions.js';

interface Listening extends IoredisClient {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * Listens at any one node of a cluster, each of which hears what is published at the others, and at another one when that
 * ends, after a pause. A `Cluster` that is subscribed makes no pause: while no node can be reached it tries thousands of times a
 * second.
 */
export class RoamingConnection extends EventEmitter implements ListeningConnection {
  #client: Listening | undefined;
  #pause: Timer | undefined;
  #attempt = 0;
  #destroyed = false;

  constructor(private readonly cluster: IoredisCluster) {
    super();
    this.setMaxListeners(0);
    // It lives on, perhaps, but hears nothing any more.
    cluster.on('-node', (node) => {
      if (this.#client && addressOf(node as IoredisClient) === addressOf(this.#client)) this.#client.disconnect();
    });
  }

  get ready(): boolean {
    return this.#client?.status === 'ready';
  }

  connect(): void {
    if (!this.#client && !this.#pause) this.#next();
  }

  async subscribe(channel: string): Promise<void> {
    await this.#client?.subscribe(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#client?.unsubscribe(channel);
  }

  destroy(): void {
    this.#destroyed = true;
    this.#pause?.cancel();
    this.#client?.disconnect();
  }

  #next(): void {
    this.#pause = undefined;
    if (this.#destroyed) return;
    const nodes = this.cluster.nodes('master');
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (!node) {
      this.#later();
      return;
    }
    // It does not come back by itself: the next one listens elsewhere.
    const client = node.duplicate({ ...LISTENING, retryStrategy: null }) as Listening;
    this.#client = client;
    client.on('error', (error) => this.emit('error', error));
    client.on('message', (channel, message) => this.emit('message', channel, message));
    client.on('ready', () => {
      this.#attempt = 0;
      this.emit('ready');
    });
    client.on('end', () => {
      this.#client = undefined;
      this.#later();
    });
    client.connect().catch(() => undefined);
  }

  #later(): void {
    if (this.#destroyed) return;
    this.#attempt += 1;
    this.#pause = systemClock.after(retryStrategy(this.#attempt), () => this.#next());
  }
}

function addressOf({ options }: IoredisClient): string {
  const { host, port } = options as { host?: string; port?: number };
  return `${host}:${port}`;
}
