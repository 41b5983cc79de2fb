import { createRequire } from 'node:module';
import type { Redis } from 'ioredis';

/** The `redlock` package, version 4, as far as the tests use it. Its own types do not fit today's clients. */
export interface PackageLock {
  readonly value: string;
  readonly expiration: number;
  extend(ttl: number): Promise<PackageLock>;
  unlock(): Promise<void>;
}

export interface PackageRedlock {
  lock(resource: string, ttl: number): Promise<PackageLock>;
  on(event: 'clientError', listener: (error: unknown) => void): unknown;
}

interface PackageClient {
  evalsha(hash: string, args: readonly unknown[], callback: Callback): void;
  eval(args: readonly unknown[], callback: Callback): void;
}

type Callback = (error: Error | null, reply?: unknown) => void;

export interface PackageOptions {
  /** How often it tries again, and after how many ms. Default: never. */
  readonly retryCount?: number;
  readonly retryDelay?: number;
  /** ms within which each node's answer is bounded: the package would wait for ever. */
  readonly bound?: number;
}

const load = createRequire(import.meta.url);

export function packageRedlock(clients: readonly Redis[], options: PackageOptions = {}): PackageRedlock {
  const { retryCount = 0, retryDelay = 20, bound = 150 } = options;
  const Redlock = load('redlock') as new (clients: readonly PackageClient[], options: object) => PackageRedlock;
  const settings = { retryCount, retryDelay, retryJitter: 10 };
  const redlock = new Redlock(
    clients.map((client) => guarded(client, bound)),
    settings,
  );
  redlock.on('clientError', () => undefined);
  return redlock;
}

/** A node that answers within `bound` ms, whatever its server does. */
function guarded(client: Redis, bound: number): PackageClient {
  const answer = (call: () => Promise<unknown>, callback: Callback): void => {
    let over = false;
    const settle = (error: Error | null, reply?: unknown): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      callback(error, reply);
    };
    const timer = setTimeout(() => settle(new Error(`no answer within ${bound} ms`)), bound);
    call().then(
      (reply) => settle(null, reply),
      (error: unknown) => settle(error as Error),
    );
  };
  return {
    evalsha: (hash, args, callback) => answer(() => client.call('EVALSHA', hash, ...texts(args)), callback),
    eval: (args, callback) => answer(() => client.call('EVAL', ...texts(args)), callback),
  };
}

function texts(args: readonly unknown[]): string[] {
  return args.map(String);
}
