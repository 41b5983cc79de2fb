import type { IoredisClient } from './redis.client.js';
import { listenTo } from './redis.listen.js';
import type { ConnectionListener, RedisDriver, RedisSubscriber } from './redis.driver.js';
import { Subscriptions } from './redis.subscriptions.js';

interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly name?: string;
  readonly sentinels?: unknown;
}

interface IoredisSubscriberClient extends IoredisClient {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export class IoredisDriver implements RedisDriver {
  readonly advice = 'its client was closed, or its retryStrategy gave up';

  constructor(private readonly client: IoredisClient) {}

  get address(): string {
    const { host, port, path, name, sentinels } = this.client.options as IoredisOptions;
    if (sentinels) return `sentinel ${name ?? ''}`;
    return path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
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

  subscriber(): RedisSubscriber {
    const subscriber = this.client.duplicate({
      lazyConnect: true,
      // Its own resubscription leaves a rejection unhandled when the connection ends meanwhile.
      autoResubscribe: false,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      // Nothing is sent on it, so that only a probe by the kernel notices that the other side has gone.
      keepAlive: 10_000,
      socketTimeout: undefined,
      // It leaves a timer behind that keeps the process alive this long.
      disconnectTimeout: 200,
      commandTimeout: undefined,
      retryStrategy: (attempt: number) => Math.min(attempt * 100, 2_000),
    }) as IoredisSubscriberClient;
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
