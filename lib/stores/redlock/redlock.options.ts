import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import { ACCEPTED_CLIENTS, clientProblem, type RedisClient } from '../redis/redis.client.js';
import { redisUrl } from '../redis/redis.url.js';

/** How to reach the nodes: exactly one of `clients` and `urls`, one for each node. */
export interface RedlockStoreOptions {
  /**
   * Clients of your own, one for each independent Redis: of ioredis 5 or 6, iovalkey, or node-redis (`redis`) 5 or later. They
   * stay yours: none is ever closed, and their options are never changed. One further connection is opened to each
   * node with `duplicate()`.
   */
  readonly clients?: readonly RedisClient[] | undefined;
  /** `redis://` or `rediss://`, one for each node. The store makes its own clients, and closes them at shutdown. */
  readonly urls?: readonly (string | URL)[] | undefined;
  /** Further options for the clients that are made for `urls`, in their library's own form, such as `tls`. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /**
   * What every name begins with, before a colon. Processes share locks when they share it. With `''` a key's name is
   * the key and nothing else is written: share locks with the `redlock` package that way. @default 'lock'
   */
  readonly prefix?: string | undefined;
  /**
   * How long one node may take to answer before it counts as failed. Keep it well below the shortest `ttl`.
   * @default '200ms'
   */
  readonly nodeTimeout?: Duration | undefined;
  /**
   * How often a waiting process looks by itself. It is woken by messages; this bounds what a lost one costs, and a
   * release by the `redlock` package, which sends none. @default '1s'
   */
  readonly pollInterval?: Duration | undefined;
  /** How long the first connection to a majority may take. @default '5s' */
  readonly connectTimeout?: Duration | undefined;
}

export type NodeSource =
  { readonly client: RedisClient } | { readonly url: string; readonly options: Record<string, unknown> };

export interface RedlockSettings {
  /** One for each node. */
  readonly sources: readonly NodeSource[];
  readonly prefix: string;
  /** ms, like the others. */
  readonly nodeTimeout: number;
  readonly pollInterval: number;
  readonly connectTimeout: number;
}

export const PLACE = 'redlockStore';
const KNOWN = ['clients', 'urls', 'options', 'prefix', 'nodeTimeout', 'pollInterval', 'connectTimeout'];
const FEWEST = 3;

/** @throws LockOptionsError */
export function redlockSettings(options: RedlockStoreOptions): RedlockSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw wrong(`the options are ${show(options)}, but must be an object with clients or urls`);
  }
  refuseUnknown(options, PLACE, KNOWN);
  const duration = (name: 'nodeTimeout' | 'pollInterval' | 'connectTimeout', ms: number): number =>
    parseDuration(options[name] ?? ms, { min: 10 }, name, PLACE);
  return {
    sources: sourcesOf(options),
    prefix: prefixOf(options.prefix ?? 'lock'),
    nodeTimeout: duration('nodeTimeout', 200),
    pollInterval: duration('pollInterval', 1_000),
    connectTimeout: duration('connectTimeout', 5_000),
  };
}

function sourcesOf({ clients, urls, options }: RedlockStoreOptions): NodeSource[] {
  if ((clients === undefined) === (urls === undefined)) {
    const problem = clients === undefined ? 'neither clients nor urls are' : 'both clients and urls are';
    throw wrong(`${problem} given. Give one`);
  }
  if (clients !== undefined) {
    if (options !== undefined) throw wrong('options are for urls. Clients have their own');
    return nodesOf(clients, 'clients').map((client, index) => {
      const problem = clientProblem(client) ?? followsSentinels(client);
      if (problem) throw wrong(`clients[${index}] is ${problem}, but must be ${ACCEPTED_CLIENTS}`);
      return { client };
    });
  }
  if (options !== undefined && (typeof options !== 'object' || (options as unknown) === null)) {
    throw wrong(`options is ${show(options)}, but must be an object`);
  }
  const texts = nodesOf(urls, 'urls', (list) => list.map((url, index) => redisUrl(url, `urls[${index}]`, PLACE)));
  return texts.map((url) => ({ url, options: { ...options } }));
}

/** The list, if it can be the nodes of a quorum. */
function nodesOf<T, U = T>(value: readonly T[] | undefined, name: string, each?: (list: readonly T[]) => U[]): U[] {
  if (!Array.isArray(value)) throw wrong(`${name} is ${show(value)}, but must be an array, with one for each node`);
  const list = [...(value as readonly T[])];
  const nodes = each ? each(list) : (list as unknown as U[]);
  if (nodes.length < FEWEST || nodes.length % 2 === 0) {
    throw wrong(
      `${name} names ${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}, but a quorum needs an odd number, 3 or more: ` +
        'an even one adds a server that may fail, and bears no further failure. For one Redis there is redisStore',
    );
  }
  const twice = nodes.findIndex((node, index) => nodes.indexOf(node) !== index);
  if (twice !== -1) throw wrong(`${name}[${twice}] is in the list twice. Every node must be a server of its own`);
  return nodes;
}

/** A master that takes over may not have heard of a vote that its predecessor gave, and gives it once more. */
function followsSentinels(client: RedisClient): string | undefined {
  const { sentinels } = (client.options ?? {}) as { readonly sentinels?: unknown };
  return sentinels ? 'led by sentinels to one master after the other' : undefined;
}

function prefixOf(prefix: unknown): string {
  if (typeof prefix === 'string' && !/[{}\s]|\p{Cs}/u.test(prefix)) return prefix;
  throw wrong(`prefix is ${show(prefix)}, but must be a text that has no braces and no spaces`);
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`${PLACE}: ${problem}.`);
}
