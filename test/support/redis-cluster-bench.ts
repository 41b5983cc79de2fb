import { setTimeout as sleep } from 'node:timers/promises';
import type { LockStore, StoreHold } from '../../lib/contract/index.js';
import { redisStore, type RedisStoreOptions } from '../../lib/stores/redis/index.js';
import { EngineProcess } from '../../lib/testing/conformance/engine-process.js';
import { clusterClients, type ClusterFamily } from './redis-cluster-clients.js';
import { RedisCluster } from './redis-cluster.js';
import { request } from './redis-requests.js';

let count = 0;

/** A waiting acquisition. */
export interface Waiter {
  readonly owner: string;
  readonly settled: { hold?: StoreHold; at?: number; error?: unknown };
  readonly done: Promise<void>;
  abort(): void;
}

/** What a spec over a cluster works with, and what it has to clean up. */
export class RedisClusterBench {
  key = '';
  prefix = '';
  readonly #cleanUps: (() => unknown)[] = [];

  constructor(
    readonly cluster: RedisCluster,
    private readonly family: ClusterFamily,
  ) {
    this.fresh();
  }

  /** Names that no other test uses. */
  fresh(): void {
    count += 1;
    this.key = `key-${count}`;
    this.prefix = `test-${process.pid}-${count}`;
  }

  /** Each stands for a process: it has a client of its own, which looks for the cluster at another node each time. */
  async store(options: Partial<RedisStoreOptions> = {}): Promise<LockStore> {
    const { nodes } = this.cluster;
    const first = this.#cleanUps.length % nodes.length;
    const { client, close } = await clusterClients[this.family]({
      nodes: [...nodes.slice(first), ...nodes.slice(0, first)],
    });
    this.#cleanUps.push(close);
    return redisStore({ client, prefix: this.prefix, ...options });
  }

  async open(options?: Partial<RedisStoreOptions>): Promise<LockStore> {
    const store = await this.store(options);
    this.#cleanUps.push(() => store.close());
    await store.open();
    return store;
  }

  async engine(options?: Partial<RedisStoreOptions>): Promise<EngineProcess> {
    const started = new EngineProcess(await this.store(options), 1);
    this.#cleanUps.push(() => started.engine.close(0));
    await started.engine.open();
    return started;
  }

  /** Waits for a key, and stands in its queue when this resolves. */
  async queue(store: LockStore, key: string): Promise<Waiter> {
    const abort = new AbortController();
    const asked = request(key, { wait: true, signal: abort.signal });
    const settled: Waiter['settled'] = {};
    const done = store.acquire(asked).then(
      (result) => {
        settled.at = performance.now();
        if (result.acquired) settled.hold = result.hold;
      },
      (error: unknown) => {
        settled.error = error;
      },
    );
    this.#cleanUps.push(() => abort.abort());
    while (asked.statuses.length === 0 && settled.error === undefined) await sleep(2);
    return { owner: asked.owner, settled, done, abort: () => abort.abort() };
  }

  /** The name of a lock in Redis. */
  lockName(key = this.key): string {
    return `{${this.prefix}:${key}}`;
  }

  slotOf(key = this.key): number {
    return this.cluster.slotOf(this.lockName(key));
  }

  /** So many keys whose locks stand in a slot. */
  keysInSlot(slot: number, wanted: number, from = 0): string[] {
    const found: string[] = [];
    for (let tried = from; found.length < wanted; tried += 1) {
      if (this.slotOf(`k${tried}`) === slot) found.push(`k${tried}`);
    }
    return found;
  }

  async end(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
    this.fresh();
  }
}
