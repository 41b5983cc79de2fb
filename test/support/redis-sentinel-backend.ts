import { setTimeout as sleep } from 'node:timers/promises';
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis5';
import { createSentinel } from 'redis';
import type { RedisClient } from '../../lib/stores/redis/index.js';
import type { ConformanceHooks } from '../../lib/testing/index.js';
import { proxyFaults } from './proxy-faults.js';
import type { TestClient } from './redis-clients.js';
import { RedisSentinel } from './redis-sentinel.js';

export interface SentinelClientSettings {
  readonly keyPrefix?: string;
  /** Further options of the client's own. */
  readonly options?: object;
}

type Connect = (set: RedisSentinel, settings: SentinelClientSettings) => Promise<TestClient>;

const families: Record<string, Connect> = {
  ioredis6: (set, settings) => ioredis(Ioredis6, set, settings),
  ioredis5: (set, settings) => ioredis(Ioredis5, set, settings),
  redis6: nodeRedis,
};

/** A client of a user that asks the sentinels where the master is, connected. */
export function connectBySentinel(
  family: string,
  set: RedisSentinel,
  settings: SentinelClientSettings = {},
): Promise<TestClient> {
  const connect = families[family];
  if (!connect) throw new Error(`There is no client "${family}": ${Object.keys(families).join(', ')}`);
  return connect(set, settings);
}

async function ioredis(
  Redis: typeof Ioredis6 | typeof Ioredis5,
  { sentinels, name }: RedisSentinel,
  { keyPrefix, options }: SentinelClientSettings,
): Promise<TestClient> {
  const client = new (Redis as typeof Ioredis6)({
    sentinels,
    name,
    lazyConnect: true,
    disconnectTimeout: 100,
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...options,
  });
  client.on('error', () => undefined);
  await client.connect().catch(() => undefined);
  return {
    client,
    send: (command, ...args) => client.call(command, ...args),
    close: () => client.disconnect(),
  };
}

async function nodeRedis(
  { sentinels, name }: RedisSentinel,
  { keyPrefix, options }: SentinelClientSettings,
): Promise<TestClient> {
  const client = createSentinel({
    name,
    sentinelRootNodes: sentinels,
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...options,
  });
  client.on('error', () => undefined);
  const close = async (): Promise<void> => {
    if (client.isOpen) await client.destroy();
  };
  // It gives up where nobody is there yet.
  const connecting = client.connect().catch(close);
  // Nor is it waited for without a bound: the store connects by itself.
  await Promise.race([connecting, sleep(10_000, undefined, { ref: false })]);
  return {
    client: client as unknown as RedisClient,
    send: (...command) => client.sendCommand(false, [...command]),
    close: () => void close().catch(() => undefined),
  };
}

/** A master behind sentinels that never fails over: what the conformance suite breaks is the master. */
export class RedisSentinelBackend {
  private constructor(readonly set: RedisSentinel) {}

  static async start(): Promise<RedisSentinelBackend> {
    return new RedisSentinelBackend(await RedisSentinel.start());
  }

  connect(family: string, settings?: SentinelClientSettings): Promise<TestClient> {
    return connectBySentinel(family, this.set, settings);
  }

  hooks(): ConformanceHooks {
    const [master] = this.set.nodes as [(typeof this.set.nodes)[0]];
    return {
      ...proxyFaults(master.proxy, master.server),
      // Its replicas drop theirs as well when they find it empty.
      loseData: () => master.server.restart(),
    };
  }

  async stop(): Promise<void> {
    await this.set.stop();
  }
}
