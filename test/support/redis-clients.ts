import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis5';
import { Redis as Iovalkey } from 'iovalkey';
import { createClient as createClient6 } from 'redis';
import { createClient as createClient5 } from 'redis5';
import type { RedisClient } from '../../lib/stores/redis/index.js';

export interface ClientSettings {
  readonly url: string;
  readonly db?: number;
  readonly keyPrefix?: string;
  readonly username?: string;
  readonly password?: string;
  /** The certificate authority, for TLS. */
  readonly ca?: string;
}

/** A client of a user, connected, whichever library it is of. */
export interface TestClient {
  readonly client: RedisClient;
  /** Runs any command. */
  send(...command: readonly string[]): Promise<unknown>;
  close(): void;
}

export interface ClientFamily {
  readonly name: string;
  /** `keyPrefix` came to node-redis with version 6. */
  readonly prefixes: boolean;
  /** Connects unless the server refuses: a test then finds a client that goes on trying, as its user would. */
  connect(settings: ClientSettings): Promise<TestClient>;
}

export const clientFamilies: readonly ClientFamily[] = [
  { name: 'ioredis6', prefixes: true, connect: (settings) => ioredis(Ioredis6, settings) },
  { name: 'ioredis5', prefixes: true, connect: (settings) => ioredis(Ioredis5, settings) },
  {
    name: 'iovalkey',
    prefixes: true,
    connect: (settings) => ioredis(Iovalkey as unknown as typeof Ioredis6, settings),
  },
  { name: 'redis6', prefixes: true, connect: (settings) => nodeRedis(createClient6, settings) },
  { name: 'redis5', prefixes: false, connect: (settings) => nodeRedis(createClient5, settings) },
];

export function clientFamily(name: string): ClientFamily {
  const found = clientFamilies.find((family) => family.name === name);
  if (!found)
    throw new Error(`There is no client "${name}": ${clientFamilies.map((family) => family.name).join(', ')}`);
  return found;
}

async function ioredis(Redis: typeof Ioredis6 | typeof Ioredis5, settings: ClientSettings): Promise<TestClient> {
  const { url, db, keyPrefix, username, password, ca } = settings;
  const client = new (Redis as typeof Ioredis6)(url, {
    lazyConnect: true,
    disconnectTimeout: 100,
    ...(db === undefined ? {} : { db }),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
  client.on('error', () => undefined);
  await client.connect().catch(() => undefined);
  return {
    client,
    send: (name, ...args) => client.call(name, ...args),
    close: () => client.disconnect(),
  };
}

async function nodeRedis(
  createClient: typeof createClient6 | typeof createClient5,
  settings: ClientSettings,
): Promise<TestClient> {
  const { url, db, keyPrefix, username, password, ca } = settings;
  const { hostname, port } = new URL(url);
  const client = (createClient as typeof createClient6)({
    socket: { host: hostname, port: Number(port), ...(ca === undefined ? {} : { tls: true, ca }) } as object,
    ...(db === undefined ? {} : { database: db }),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  });
  const settled = new Promise((resolve) => client.once('ready', resolve).on('error', resolve));
  client.connect().catch(() => undefined);
  await settled;
  return {
    client,
    send: (...command) => client.sendCommand([...command]),
    close: () => {
      if (client.isOpen) client.destroy();
    },
  };
}
