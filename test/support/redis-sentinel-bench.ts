import { setTimeout as sleep } from 'node:timers/promises';
import { redisStore, type RedisStoreOptions } from '../../lib/stores/redis/index.js';
import type { TestClient } from './redis-clients.js';
import { ask } from './redis-sentinel-ask.js';
import { connectBySentinel, type SentinelClientSettings } from './redis-sentinel-backend.js';
import type { RedisSentinel, RedisSentinelNode } from './redis-sentinel.js';
import { TestEngine } from './test-engine.js';

export const COMMAND_TIMEOUT = 500;

/** An engine, as a process of an application has it, and its client. */
export interface SentinelProcess extends TestEngine {
  readonly user: TestClient;
}

/** How one try has ended. */
export interface Try {
  /** ms. */
  readonly took: number;
  /** Of the lock, which is free again. */
  readonly token?: bigint;
  readonly error?: unknown;
}

/** Processes that lock behind sentinels, and a look past them at what the servers have. */
export class SentinelBench {
  readonly #cleanUps: (() => unknown)[] = [];

  constructor(private readonly set: RedisSentinel) {}

  async start(
    family: string,
    options: Partial<RedisStoreOptions> = {},
    settings?: SentinelClientSettings,
  ): Promise<SentinelProcess> {
    const user = await connectBySentinel(family, this.set, settings);
    this.#cleanUps.push(() => user.close());
    const store = redisStore({ client: user.client, commandTimeout: COMMAND_TIMEOUT, ...options });
    const process = Object.assign(new TestEngine(store), { user });
    this.#cleanUps.push(() => process.close());
    await process.engine.open();
    return process;
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
  }

  /** Kills the master when its replicas have all of its data, and waits for its successor. */
  async kill(): Promise<RedisSentinelNode> {
    await this.set.waitForReplicas(2);
    return this.set.promoted(await this.set.killMaster());
  }

  /** What stands on one node. */
  async valueOn({ server }: RedisSentinelNode, key: string): Promise<string> {
    return String(await ask(server.port, 'GET', `{lock:${key}}`));
  }

  /** How many wait for the key, as the master has it. */
  async queued(key: string): Promise<number> {
    const { server } = await this.set.master();
    return Number(await ask(server.port, 'LLEN', `{lock:${key}}:queue`));
  }

  /** How many processes hear their wake-up messages from a node. */
  async listening({ server }: RedisSentinelNode): Promise<number> {
    return ((await ask(server.port, 'PUBSUB', 'CHANNELS', 'lock:wake:*')) as unknown[]).length;
  }

  async tryOnce(process: TestEngine, key: string): Promise<Try> {
    const started = performance.now();
    try {
      const hold = await process.acquire(key, { wait: 0 });
      const took = performance.now() - started;
      await hold.release();
      return { took, token: hold.fencingToken };
    } catch (error) {
      return { took: performance.now() - started, error };
    }
  }

  /** All connections to nodes and sentinels, those among themselves as well: how many these are does not depend on who is master. */
  async connections(): Promise<number> {
    let count = 0;
    for (const { proxy } of this.set.nodes) count += proxy.connections;
    for (const { port } of this.set.sentinels) {
      count += Number(/connected_clients:(\d+)/.exec(String(await ask(port, 'INFO', 'clients')))?.[1]);
    }
    return count;
  }

  async settledConnections(): Promise<number> {
    for (let last = -1; ;) {
      const now = await this.connections();
      if (now === last) return now;
      last = now;
      await sleep(1_000);
    }
  }
}
