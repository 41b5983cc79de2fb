import { show } from '../../options/duration.js';

/** What is used of a client of ioredis (5 or 6) or iovalkey. */
export interface IoredisClient {
  readonly status: string;
  readonly options: object;
  connect(): Promise<unknown>;
  duplicate(override?: object): unknown;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
  quit(): Promise<unknown>;
  disconnect(): void;
}

/** What is used of a client of node-redis (`redis` 5 or later). */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options: object | undefined;
  connect(): Promise<unknown>;
  duplicate(override?: object): unknown;
  evalSha(sha: string, options?: { keys?: string[]; arguments?: string[] }): Promise<unknown>;
  eval(source: string, options?: { keys?: string[]; arguments?: string[] }): Promise<unknown>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
  close(): Promise<unknown>;
  destroy(): void;
}

/** A client as its library made it. Which library it is, is told from its methods. */
export type RedisClient = IoredisClient | NodeRedisClient;

export const ACCEPTED_CLIENTS =
  'a `Redis` of ioredis 5 or 6 or of iovalkey, or the client that `createClient()` of redis 5 or later returns';

export function isIoredis(client: unknown): client is IoredisClient {
  return has(client, 'evalsha', 'eval', 'duplicate', 'connect', 'on') && typeof client.status === 'string';
}

export function isNodeRedis(client: unknown): client is NodeRedisClient {
  // Version 4 has no destroy().
  const looksLike = has(client, 'evalSha', 'eval', 'duplicate', 'destroy', 'on') && typeof client.isReady === 'boolean';
  // Its clusters and sentinels have all of these, but no connection that could be subscribed.
  return looksLike && typeof client.isPubSubActive === 'boolean';
}

/** What is wrong with a client, or `undefined`. */
export function clientProblem(client: unknown): string | undefined {
  if (has(client, 'nodes', 'evalsha')) return 'a Cluster, which is not supported yet';
  if (isIoredis(client) || isNodeRedis(client)) return undefined;
  if (has(client, 'evalSha')) return 'a client of redis 4 or older, a pool, a cluster or a sentinel';
  return show(client);
}

function has(value: unknown, ...methods: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
}
