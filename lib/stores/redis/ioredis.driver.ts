import type { IoredisClient } from './redis.client.js';
import { listenTo } from './redis.listen.js';
import type { ConnectionListener, RedisDriver, RedisSubscriber } from './redis.driver.js';

interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly name?: string;
  readonly sentinels?: unknown;
}

interface IoredisSubscriberClient extends IoredisClient {
  subscribe(channel: string): Promise<unknown>;
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
    return new IoredisSubscriber(subscriber);
  }

  quit(): Promise<unknown> {
    return this.client.quit();
  }

  destroy(): void {
    this.client.disconnect();
  }
}

class IoredisSubscriber implements RedisSubscriber {
  constructor(private readonly client: IoredisSubscriberClient) {
    // The library prints an error that nobody listens to. It reconnects by itself, and the poll bridges the gap.
    client.on('error', () => undefined);
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.client.on('message', (_channel, message) => listener(String(message)));
    await new Promise<void>((resolve, reject) => {
      // A wrong password is told by an event only: the connection goes on trying.
      this.client.on('error', reject);
      this.client
        .connect()
        .catch(() => undefined)
        .then(() => this.client.subscribe(channel))
        .then(() => resolve(), reject)
        .finally(() => this.client.off('error', reject));
    });
    this.client.on('ready', () => void this.client.subscribe(channel).catch(() => undefined));
  }

  destroy(): void {
    this.client.disconnect();
  }
}
