import { retryStrategy } from './client.options.js';
import type { NodeRedisClient } from './redis.client.js';
import { listenTo } from './redis.listen.js';
import type { ConnectionListener, RedisDriver, RedisNode, RedisSubscriber } from './redis.driver.js';
import { Subscriptions } from './redis.subscriptions.js';

interface NodeRedisOptions {
  readonly socket?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly tls?: unknown;
  };
}

interface NodeRedisSubscriberClient extends NodeRedisClient {
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export class NodeRedisDriver implements RedisDriver, RedisNode {
  readonly clustered = false;
  readonly ordered = true;
  readonly advice =
    'call `await client.connect()` first; after `close()` or a reconnectStrategy of `false` it stays closed';

  constructor(private readonly client: NodeRedisClient) {}

  /** With a connection of the store's own, set up like that of `client`. */
  static apart(client: NodeRedisClient): NodeRedisDriver {
    const own = client.duplicate() as NodeRedisClient;
    // Told by the requests that fail.
    own.on('error', () => undefined);
    own.connect().catch(() => undefined);
    return new NodeRedisDriver(own);
  }

  get address(): string {
    const { host, port, path, tls } = (this.client.options as NodeRedisOptions | undefined)?.socket ?? {};
    return path ?? `${host ?? 'localhost'}:${port ?? 6379}${tls ? ' (TLS)' : ''}`;
  }

  get status(): string {
    if (this.client.isReady) return 'ready';
    return this.client.isOpen ? 'connecting' : 'closed';
  }

  get ready(): boolean {
    return this.client.isReady;
  }

  get ended(): boolean {
    return !this.client.isOpen;
  }

  start(): void {
    // Connecting is the owner's: a second connect() fails, and it would be theirs.
  }

  listen(listener: ConnectionListener): () => void {
    return listenTo(this.client, listener);
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.client.evalSha(sha, { keys: [...keys], arguments: [...args] });
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.client.eval(source, { keys: [...keys], arguments: [...args] });
  }

  node(): Promise<RedisNode> {
    return Promise.resolve(this);
  }

  command(...args: readonly string[]): Promise<unknown> {
    return this.client.sendCommand([...args]);
  }

  subscriber(): RedisSubscriber {
    const options = (this.client.options ?? {}) as NodeRedisOptions;
    const subscriber = this.client.duplicate({
      disableOfflineQueue: false,
      commandOptions: undefined,
      clientSideCache: undefined,
      emitInvalidate: undefined,
      socket: {
        ...options.socket,
        keepAlive: true,
        keepAliveInitialDelay: 10_000,
        socketTimeout: undefined,
        reconnectStrategy: (attempt: number) => retryStrategy(attempt + 1),
      },
    }) as NodeRedisSubscriberClient;
    return subscriptionsOf(subscriber);
  }

  quit(): Promise<unknown> {
    return this.client.close();
  }

  destroy(): void {
    this.client.destroy();
  }
}

function subscriptionsOf(client: NodeRedisSubscriberClient): RedisSubscriber {
  // The same one each time: the library keeps a set of them for each channel.
  const receive = (message: string, channel: string): void => subscriptions.receive(channel, message);
  const subscriptions = new Subscriptions({
    get ready() {
      return client.isReady;
    },
    connect: () => {
      if (!client.isOpen) client.connect().catch(() => undefined);
    },
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
    subscribe: (channel) => client.subscribe(channel, receive),
    unsubscribe: (channel) => client.unsubscribe(channel),
    destroy: () => {
      // Before version 6 this throws when it is closed already.
      if (client.isOpen) client.destroy();
    },
  });
  return subscriptions;
}
