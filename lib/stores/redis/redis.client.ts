import { show } from '../../options/duration.js';

/** What is used of a client of ioredis (5 or 6) or iovalkey. */
export interface IoredisClient {
  readonly status: string;
  readonly options: object;
  connect(): Promise<unknown>;
  duplicate(override?: object): unknown;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  /** Any command. */
  call(command: string, ...args: string[]): Promise<unknown>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
  quit(): Promise<unknown>;
  disconnect(): void;
}

/** What is used of a `Cluster` of ioredis (5 or 6) or iovalkey. */
export interface IoredisCluster extends Omit<IoredisClient, 'duplicate'> {
  /** By slot the nodes that have it, the master first: `host:port`. */
  readonly slots: readonly (readonly string[])[];
  nodes(role: 'master'): IoredisClient[];
  duplicate(nodes?: never[], override?: object): unknown;
  refreshSlotsCache(): void;
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
  sendCommand(args: string[]): Promise<unknown>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
  close(): Promise<unknown>;
  destroy(): unknown;
}

/** What is used of what `createSentinel()` or `createCluster()` of node-redis (`redis` 6 or later) return. */
export interface NodeRedisGroup extends Omit<NodeRedisClient, 'options' | 'sendCommand'> {
  sendCommand(...args: unknown[]): Promise<unknown>;
  /** Clusters. */
  getNodeClientForKey?(key: string): Promise<NodeRedisClient>;
}

/** A client as its library made it. Which library it is, is told from its methods. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** One that knows several nodes. */
export type RedisGroup = IoredisCluster | NodeRedisGroup;

export const ACCEPTED_CLIENTS =
  'a `Redis` of ioredis 5 or 6 or of iovalkey, or the client that `createClient()` of redis 5 or later returns';

export const ACCEPTED_GROUPS =
  `${ACCEPTED_CLIENTS}; or, for several nodes, a \`Cluster\` of ioredis 5 or 6 or of iovalkey, or what \`createSentinel()\` or ` +
  '`createCluster()` of redis 6 or later return';

export function isIoredisCluster(client: unknown): client is IoredisCluster {
  return has(client, 'nodes', 'evalsha', 'refreshSlotsCache', 'duplicate');
}

/** Those of version 5 do not say when they are ready, and a cluster of it does not find a new master. */
export function isNodeRedisGroup(client: unknown): client is NodeRedisGroup {
  return isNodeRedisSentinel(client) || isNodeRedisCluster(client);
}

function isNodeRedisSentinel(client: unknown): boolean {
  return has(client, 'evalSha', 'getMasterNode', 'duplicate', 'destroy') && typeof client.isReady === 'boolean';
}

export function isNodeRedisCluster(client: unknown): client is NodeRedisGroup {
  return has(client, 'evalSha', 'getNodeClientForKey', 'duplicate', 'destroy') && typeof client.isReady === 'boolean';
}

export function isIoredis(client: unknown): client is IoredisClient {
  return has(client, 'evalsha', 'eval', 'duplicate', 'connect', 'on') && typeof client.status === 'string';
}

export function isNodeRedis(client: unknown): client is NodeRedisClient {
  // Version 4 has no destroy().
  const looksLike = has(client, 'evalSha', 'eval', 'duplicate', 'destroy', 'on') && typeof client.isReady === 'boolean';
  // Its clusters and sentinels have all of these, but no connection that could be subscribed.
  return looksLike && typeof client.isPubSubActive === 'boolean';
}

/** What is wrong with a client of one node, or of what Sentinel makes look like one; or `undefined`. */
export function clientProblem(client: unknown): string | undefined {
  if (isIoredisCluster(client)) return 'a Cluster';
  if (isIoredis(client) || isNodeRedis(client)) return undefined;
  if (has(client, 'evalSha')) return 'a client of redis 4 or older, a pool, a cluster or a sentinel';
  return show(client);
}

/** What is wrong with a client of one node or of several, or `undefined`. */
export function groupProblem(client: unknown): string | undefined {
  if (isIoredisCluster(client) || isNodeRedisGroup(client)) return undefined;
  if (has(client, 'evalSha', 'getSlotRandomNode')) return 'a cluster of redis 5, which does not find a new master';
  return clientProblem(client);
}

function has(value: unknown, ...methods: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
}
