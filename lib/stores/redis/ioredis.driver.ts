import type { IoredisClient } from './redis.client.js';
import { listenTo } from './redis.listen.js';
import { LISTENING, OWN_CONNECTION, retryStrategy } from './client.options.js';
import type { ConnectionListener, RedisDriver, RedisNode, RedisSubscriber } from './redis.driver.js';
import { Subscriptions } from './redis.subscriptions.js';

interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly tls?: unknown;
  readonly name?: string;
  readonly sentinels?: unknown;
  readonly failoverDetector?: boolean;
}

interface IoredisSubscriberClient extends IoredisClient {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export class IoredisDriver implements RedisDriver, RedisNode {
  readonly clustered = false;
  readonly ordered = true;
  readonly advice = 'its client was closed, or its retryStrategy gave up';

  constructor(private readonly client: IoredisClient) {}

  /** With a connection of the store's own, set up like that of `client`. */
  static apart(client: IoredisClient): IoredisDriver {
    const own = client.duplicate({ ...OWN_CONNECTION, lazyConnect: true, retryStrategy }) as IoredisClient;
    // Told by the requests that fail.
    own.on('error', () => undefined);
    return new IoredisDriver(own);
  }

  get address(): string {
    const { host, port, path, name, sentinels, tls } = this.client.options as IoredisOptions;
    if (sentinels) return `sentinel ${name ?? ''}`;
    return path ?? `${host ?? 'localhost'}:${port ?? 6379}${tls ? ' (TLS)' : ''}`;
  }

  get warning(): string | undefined {
    const { sentinels, failoverDetector } = this.client.options as IoredisOptions;
    if (!sentinels || failoverDetector) return undefined;
    return (
      'the client of ioredis has no failoverDetector: when sentinels replace a master that is alive, it goes on locking there until the ' +
      'old master closes its connections, for seconds. Set failoverDetector: true beside sentinels.'
    );
  }

  get status(): string {
    return this.client.status;
  }

  get ready(): boolean {
    return this.client.status === 'ready';
  }

  get ended(): boolean {
    return this.client.status === 'end';
  }

  start(): void {
    // Its failure is told by the events.
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
  }

  listen(listener: ConnectionListener): () => void {
    return listenTo(this.client, listener);
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.client.evalsha(sha, keys.length, ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.client.eval(source, keys.length, ...keys, ...args);
  }

  node(): Promise<RedisNode> {
    return Promise.resolve(this);
  }

  command(name: string, ...args: readonly string[]): Promise<unknown> {
    return this.client.call(name, ...args);
  }

  subscriber(): RedisSubscriber {
    const subscriber = this.client.duplicate({ ...LISTENING, retryStrategy }) as IoredisSubscriberClient;
    return subscriptionsOf(subscriber);
  }

  quit(): Promise<unknown> {
    return this.client.quit();
  }

  destroy(): void {
    this.client.disconnect();
  }
}

function subscriptionsOf(client: IoredisSubscriberClient): RedisSubscriber {
  const subscriptions = new Subscriptions({
    get ready() {
      return client.status === 'ready';
    },
    connect: () => {
      if (client.status === 'wait') client.connect().catch(() => undefined);
    },
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
    subscribe: (channel) => client.subscribe(channel),
    unsubscribe: (channel) => client.unsubscribe(channel),
    destroy: () => client.disconnect(),
  });
  client.on('message', (channel, message) => subscriptions.receive(String(channel), String(message)));
  return subscriptions;
}
