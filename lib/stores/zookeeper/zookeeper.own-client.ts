import { LockOptionsError } from '../../errors/index.js';
import type { ClientCalls } from './zookeeper.client.js';
import { mend } from './zookeeper.mending.js';

export interface OwnClientSettings {
  readonly connectionString: string;
  /** ms. */
  readonly sessionTimeout: number;
  readonly auth: readonly { readonly scheme: string; readonly auth: string | Buffer }[];
}

/** How the package is loaded. Replaced by tests. */
export type LoadPackage = () => Promise<unknown>;

// After all servers have been tried; the library's own default is a second, which is long beside a session's time.
const LONGEST_PAUSE = 200;

/** Makes a client, not connected yet. @throws LockOptionsError when the package is not installed */
export async function ownClient(
  { connectionString, sessionTimeout, auth }: OwnClientSettings,
  load: LoadPackage = () => import('node-zookeeper-client'),
): Promise<ClientCalls> {
  const library = named(await load().catch(explain));
  const client = library.createClient(connectionString, { sessionTimeout, spinDelay: LONGEST_PAUSE, retries: 0 });
  mend(client);
  for (const { scheme, auth: secret } of auth) {
    client.addAuthInfo(scheme, typeof secret === 'string' ? Buffer.from(secret) : secret);
  }
  return client;
}

interface Package {
  createClient(
    connectionString: string,
    options: object,
  ): ClientCalls & { addAuthInfo(scheme: string, auth: Buffer): void };
}

/** A CommonJS package has its names on the default export where the loader did not find them. */
function named(loaded: unknown): Package {
  const namespace = loaded as { default?: object };
  return { ...namespace.default, ...namespace } as Package;
}

function explain(error: unknown): never {
  const { code } = Object(error) as { code?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
  throw new LockOptionsError(
    'zookeeperStore: connectionString needs a client. Install node-zookeeper-client, or pass a client.',
    error,
  );
}
