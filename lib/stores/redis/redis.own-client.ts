import { LockOptionsError } from '../../errors/index.js';
import type { RedisClient } from './redis.client.js';

/** How the client packages are loaded. Replaced by tests. */
export interface ClientPackages {
  ioredis(): Promise<unknown>;
  redis(): Promise<unknown>;
}

const installed: ClientPackages = {
  ioredis: () => import('ioredis'),
  redis: () => import('redis'),
};

export interface OwnClientOptions {
  /** Whose client it is, for messages. @default 'redisStore' */
  readonly place?: string;
  readonly url: string;
  /** What the user hands through to the client. */
  readonly options: Readonly<Record<string, unknown>>;
  /** ms. */
  readonly connectTimeout: number;
  /** ms. */
  readonly commandTimeout: number;
}

/** Makes a client of whichever package is installed, ioredis first. It is not connected yet. */
export async function ownClient(options: OwnClientOptions, packages: ClientPackages = installed): Promise<RedisClient> {
  const { place = 'redisStore' } = options;
  let missing: unknown;
  for (const [name, make] of [
    ['ioredis', makeIoredis],
    ['redis', makeNodeRedis],
  ] as const) {
    let loaded: unknown;
    try {
      loaded = await packages[name]();
    } catch (error) {
      if (!isMissing(error)) throw error;
      missing = error;
      continue;
    }
    try {
      return make(loaded, options);
    } catch (error) {
      const reason = (error as Error).message.replaceAll(options.url, 'the url');
      throw new LockOptionsError(`${place}: ${name} refuses the url or the options: ${reason}`);
    }
  }
  throw new LockOptionsError(`${place}: a url needs a client. Install ioredis or redis, or pass a client.`, missing);
}

function makeIoredis(loaded: unknown, { url, options, connectTimeout, commandTimeout }: OwnClientOptions): RedisClient {
  const { Redis } = named(loaded) as { Redis: new (url: string, options: object) => RedisClient };
  return silent(
    new Redis(url, {
      lazyConnect: true,
      connectTimeout,
      // It leaves a timer behind that keeps the process alive this long.
      disconnectTimeout: 200,
      // Whoever sent a command has given it up by then.
      autoResendUnfulfilledCommands: false,
      // Connects anew when a network swallows everything, which TCP alone would take minutes to notice.
      socketTimeout: 3 * commandTimeout,
      ...options,
    }),
  );
}

function makeNodeRedis(loaded: unknown, { url, options, connectTimeout }: OwnClientOptions): RedisClient {
  const { createClient } = named(loaded) as { createClient: (options: object) => RedisClient };
  const socket = { connectTimeout, ...(options['socket'] as object | undefined) };
  const client = silent(createClient({ ...options, url, socket }));
  client.connect().catch(() => undefined);
  return client;
}

/** Its errors are reported by the requests that fail; unheard they would be printed, or end the process. */
function silent(client: RedisClient): RedisClient {
  client.on('error', () => undefined);
  return client;
}

/** A CommonJS package has its names on the default export where the loader did not find them. */
function named(loaded: unknown): unknown {
  const namespace = loaded as { default?: object };
  return { ...namespace.default, ...namespace };
}

function isMissing(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
}
