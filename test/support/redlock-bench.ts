import { Redis } from 'ioredis';
import type { LockStore } from '../../lib/contract/index.js';
import { redlockStore, type RedlockStoreOptions } from '../../lib/stores/redlock/index.js';
import { RedlockBackend, type RedlockTestNode } from './redlock-backend.js';
import { until } from './redis-requests.js';
import { TestEngine } from './test-engine.js';

/** What a spec over independent servers works with, and what it has to clean up. */
export class RedlockBench {
  readonly #cleanUps: (() => unknown)[] = [];
  readonly #stray: unknown[] = [];

  constructor() {
    process.on('unhandledRejection', (error) => this.#stray.push(error));
    process.on('warning', (warning) => this.#stray.push(warning));
  }

  async backend(count: number, args?: readonly string[]): Promise<RedlockBackend> {
    const backend = await RedlockBackend.start(count, args);
    this.onEnd(() => backend.stop());
    return backend;
  }

  store(options: RedlockStoreOptions): LockStore {
    const store = redlockStore(options);
    this.onEnd(() => store.close());
    return store;
  }

  async open(options: RedlockStoreOptions): Promise<LockStore> {
    const store = this.store(options);
    await store.open();
    return store;
  }

  async engine(options: RedlockStoreOptions): Promise<TestEngine> {
    const engine = new TestEngine(redlockStore(options));
    this.onEnd(() => engine.close());
    await engine.engine.open();
    return engine;
  }

  /** Past the proxy, and past whatever the store does. */
  peek(node: RedlockTestNode): Redis {
    const client = new Redis(node.directUrl, { maxRetriesPerRequest: null, disconnectTimeout: 100 });
    client.on('error', () => undefined);
    this.onEnd(() => client.disconnect());
    return client;
  }

  onEnd(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp);
  }

  /** What nobody caught, warnings included. */
  async end(): Promise<unknown[]> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
    return this.#stray.splice(0);
  }
}

export interface NodeFault {
  readonly begin: (node: RedlockTestNode) => Promise<void> | void;
  readonly end: (node: RedlockTestNode) => Promise<void> | void;
}

/** What can happen to one server. */
export const nodeFaults: Readonly<Record<string, NodeFault>> = {
  killed: { begin: ({ server }) => server.kill(), end: ({ server }) => server.run() },
  stopped: { begin: ({ server }) => server.pause(), end: ({ server }) => server.resume() },
  'black-holed': { begin: ({ proxy }) => proxy.blackHole(), end: ({ proxy }) => proxy.heal() },
};

export interface Timed<T> {
  readonly took: number;
  readonly value?: T;
  readonly error?: Error & { readonly code?: string; readonly retryable?: boolean };
}

export async function timed<T>(promise: Promise<T>): Promise<Timed<T>> {
  const start = performance.now();
  const settled = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error as Error }),
  );
  return { took: performance.now() - start, ...settled };
}

/** Waits until no node has a vote for the name. */
export async function allFree(clients: readonly Redis[], name: string, timeout?: number): Promise<void> {
  const free = async (): Promise<boolean> => {
    const counts = await Promise.all(clients.map((client) => client.exists(name)));
    return counts.every((count) => count === 0);
  };
  await until(free, timeout);
}
