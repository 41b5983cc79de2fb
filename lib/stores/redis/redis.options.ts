import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { ACCEPTED_CLIENTS, clientProblem, type RedisClient } from './redis.client.js';
import { redisUrl } from './redis.url.js';

/** How to reach Redis: exactly one of `client` and `url`. */
export interface RedisStoreOptions {
  /**
   * A client of your own: ioredis 5 or 6, iovalkey, or node-redis (`redis`) 5 or later. It stays yours: it is never
   * closed, and its options are never changed. One further connection is opened with its `duplicate()`.
   */
  readonly client?: RedisClient | undefined;
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
}

export interface RedisSettings {
  readonly source:
    { readonly client: RedisClient } | { readonly url: string; readonly options: Record<string, unknown> };
  readonly prefix: string;
  /** ms, like the others. */
  readonly commandTimeout: number;
  readonly pollInterval: number;
  readonly claimTtl: number;
  readonly connectTimeout: number;
}

const PLACE = 'redisStore';
const KNOWN = ['client', 'url', 'options', 'prefix', 'commandTimeout', 'pollInterval', 'claimTtl', 'connectTimeout'];

/** @throws LockOptionsError */
export function redisSettings(options: RedisStoreOptions): RedisSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw wrong(`the options are ${show(options)}, but must be an object with a client or a url`);
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) throw wrong(`there is no option ${show(name)}. There are: ${KNOWN.join(', ')}`);
  }
  const duration = (name: 'commandTimeout' | 'pollInterval' | 'claimTtl' | 'connectTimeout', ms: number): number =>
    parseDuration(options[name] ?? ms, { min: 10 }, name, PLACE);
  return {
    source: sourceOf(options),
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
    const problem = clientProblem(client);
    if (problem) throw wrong(`client is ${problem}, but must be ${ACCEPTED_CLIENTS}`);
    return { client };
  }
  if (options !== undefined && (typeof options !== 'object' || (options as unknown) === null)) {
    throw wrong(`options is ${show(options)}, but must be an object`);
  }
  return { url: redisUrl(url, 'url', PLACE), options: { ...options } };
}

function prefixOf(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix !== '' && !/[{}\s]|\p{Cs}/u.test(prefix)) return prefix;
  throw wrong(`prefix is ${show(prefix)}, but must be a text that is not empty and has no braces and no spaces`);
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`${PLACE}: ${problem}.`);
}
