import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import {
  ACCEPTED_GROUPS,
  groupProblem,
  isIoredisCluster,
  isNodeRedisCluster,
  type RedisClient,
  type RedisGroup,
} from './redis.client.js';
import type { WaitReplicas } from './redis.replicas.js';
import { redisUrl } from './redis.url.js';

/** How to reach Redis: exactly one of `client` and `url`. */
export interface RedisStoreOptions {
  /**
   * A client of your own: ioredis 5 or 6, iovalkey, or node-redis (`redis`) 5 or later; for several nodes a `Cluster` of ioredis, or
   * what `createSentinel()` or `createCluster()` of redis 6 return. It stays yours: it is never closed, and its options
   * are never changed. One further connection is opened with its `duplicate()`, for several nodes one client that does all.
   */
  readonly client?: RedisClient | RedisGroup | undefined;
  /** `redis://` or `rediss://`. The store makes its own client of ioredis or redis, and closes it at shutdown. */
  readonly url?: string | URL | undefined;
  /** Further options for the client that is made for `url`, in its library's own form, such as `tls`. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /**
   * What every key and channel begins with. Processes share locks when they share it. No prefix may begin with another
   * and a colon: `lock` and `lock:jobs` would meet. @default 'lock'
   */
  readonly prefix?: string | undefined;
  /** How long one request may take before Redis counts as unavailable. @default '1s' */
  readonly commandTimeout?: Duration | undefined;
  /**
   * How often a waiting process looks by itself. It is woken by a message; this bounds what a lost message costs.
   * @default '1s'
   */
  readonly pollInterval?: Duration | undefined;
  /** How long a lock stays reserved for a waiting process that was woken and has not answered yet. @default '1s' */
  readonly claimTtl?: Duration | undefined;
  /** How long the first connection may take. @default '5s' */
  readonly connectTimeout?: Duration | undefined;
  /**
   * A lock counts once so many replicas have it, and a renewal likewise: they are asked with WAIT, for `timeout` (default '100ms')
   * at most. Where fewer answer, acquiring fails with `LockUnavailableError`. It makes it rare that a failover forgets a
   * lock, not impossible: Redis may promote a replica that did not confirm. It costs a round trip between the servers for each lock, and the store
   * takes a connection of its own for it, on which locks are confirmed one after the other.
   *
   * `false`: say that it is known what a failover may cost, so that nobody is warned of it at start.
   * @default undefined
   */
  readonly waitReplicas?: { readonly count: number; readonly timeout?: Duration | undefined } | false | undefined;
}

export interface RedisSettings {
  readonly source:
    { readonly client: RedisClient | RedisGroup } | { readonly url: string; readonly options: Record<string, unknown> };
  readonly prefix: string;
  /** ms, like the others. */
  readonly commandTimeout: number;
  readonly pollInterval: number;
  readonly claimTtl: number;
  readonly connectTimeout: number;
  readonly waitReplicas: WaitReplicas | undefined;
  /** Whether it was said what a failover may cost. */
  readonly asked: boolean;
}

const PLACE = 'redisStore';
const DURATIONS = ['commandTimeout', 'pollInterval', 'claimTtl', 'connectTimeout'] as const;
const KNOWN = ['client', 'url', 'options', 'prefix', ...DURATIONS, 'waitReplicas'];

/** @throws LockOptionsError */
export function redisSettings(options: RedisStoreOptions): RedisSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw wrong(`the options are ${show(options)}, but must be an object with a client or a url`);
  }
  refuseUnknown(options, PLACE, KNOWN);
  const duration = (name: (typeof DURATIONS)[number], ms: number): number =>
    parseDuration(options[name] ?? ms, { min: 10 }, name, PLACE);
  return {
    source: sourceOf(options),
    waitReplicas: waitReplicasOf(options),
    asked: options.waitReplicas !== undefined,
    prefix: prefixOf(options.prefix ?? 'lock'),
    commandTimeout: duration('commandTimeout', 1_000),
    pollInterval: duration('pollInterval', 1_000),
    claimTtl: duration('claimTtl', 1_000),
    connectTimeout: duration('connectTimeout', 5_000),
  };
}

function sourceOf({ client, url, options }: RedisStoreOptions): RedisSettings['source'] {
  if ((client === undefined) === (url === undefined)) {
    throw wrong(`${client === undefined ? 'neither client nor url is' : 'both client and url are'} given. Give one`);
  }
  if (client !== undefined) {
    if (options !== undefined) throw wrong('options are for a url. A client has its own');
    const problem = groupProblem(client);
    if (problem) throw wrong(`client is ${problem}, but must be ${ACCEPTED_GROUPS}`);
    return { client };
  }
  if (options !== undefined && (typeof options !== 'object' || (options as unknown) === null)) {
    throw wrong(`options is ${show(options)}, but must be an object`);
  }
  return { url: redisUrl(url, 'url', PLACE), options: { ...options } };
}

function waitReplicasOf({ waitReplicas, client }: RedisStoreOptions): WaitReplicas | undefined {
  if (waitReplicas === undefined || waitReplicas === false) return undefined;
  if (typeof waitReplicas !== 'object' || (waitReplicas as unknown) === null) {
    throw wrong(`waitReplicas is ${show(waitReplicas)}, but must be { count, timeout } or false`);
  }
  const { count, timeout = 100, ...others } = waitReplicas;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw wrong(`waitReplicas has no ${show(unknown)}. There are: count, timeout`);
  if (!Number.isInteger(count) || count < 1) {
    throw wrong(
      `waitReplicas.count is ${show(count)}, but must be a whole number from 1: how many replicas must have a lock`,
    );
  }
  if ((isIoredisCluster(client) || isNodeRedisCluster(client)) && keyPrefixOf(client) !== undefined) {
    throw wrong(
      `waitReplicas does not go with the keyPrefix ${show(keyPrefixOf(client))} of a cluster's client: the prefix is known to the cluster alone, and ` +
        'replicas are asked at the node. Use the option prefix of the store, and a client without keyPrefix',
    );
  }
  return { count, timeout: parseDuration(timeout, { min: 1 }, 'waitReplicas.timeout', PLACE) };
}

function keyPrefixOf(client: object): unknown {
  const { options, _keyPrefix } = client as { options?: { keyPrefix?: unknown }; _keyPrefix?: unknown };
  return (options?.keyPrefix ?? _keyPrefix) || undefined;
}

function prefixOf(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix !== '' && !/[{}\s]|\p{Cs}/u.test(prefix)) return prefix;
  throw wrong(`prefix is ${show(prefix)}, but must be a text that is not empty and has no braces and no spaces`);
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`${PLACE}: ${problem}.`);
}
