import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import { clientProblem, type EtcdClient } from './etcd.client.js';

/** Certificates for TLS, in PEM form. */
export interface EtcdCredentials {
  readonly rootCertificate: Buffer;
  readonly privateKey?: Buffer | undefined;
  readonly certChain?: Buffer | undefined;
}

/** How to reach etcd: exactly one of `client` and `hosts`. */
export interface EtcdStoreOptions {
  /**
   * An `Etcd3` of etcd3 1.x of your own. It stays yours: it is never closed, and its options are never changed. It chooses the
   * member for each call by itself, at random; prefer `hosts` where there are several.
   */
  readonly client?: EtcdClient | undefined;
  /**
   * The members' client URLs, such as `'http://localhost:2379'`, `'https://…'` for TLS. The store makes its own clients of
   * etcd3, one a member, and closes them at shutdown.
   */
  readonly hosts?: string | readonly string[] | undefined;
  /** For `hosts`: user and password of etcd's own authentication. */
  readonly auth?: { readonly username: string; readonly password: string } | undefined;
  /** For `hosts`: certificates for TLS. */
  readonly credentials?: EtcdCredentials | undefined;
  /** For `hosts`: further options of etcd3, such as `grpcOptions`. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /**
   * What every name begins with, followed by a slash. Processes share locks when they share it. @default 'lock'
   */
  readonly prefix?: string | undefined;
  /**
   * How long one request may take, all members that were tried included, before etcd counts as unavailable. @default '2s'
   */
  readonly commandTimeout?: Duration | undefined;
  /**
   * How often a waiting process looks by itself. It is woken by a watch; this bounds what a lost event costs. @default '5s'
   */
  readonly pollInterval?: Duration | undefined;
  /** How long the first connection may take. @default '5s' */
  readonly connectTimeout?: Duration | undefined;
}

export interface OwnClientOptions {
  readonly hosts: readonly string[];
  readonly auth: EtcdStoreOptions['auth'];
  readonly credentials: EtcdCredentials | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

export interface EtcdSettings {
  readonly source: { readonly client: EtcdClient } | OwnClientOptions;
  readonly prefix: string;
  /** ms, like the others. */
  readonly commandTimeout: number;
  readonly pollInterval: number;
  readonly connectTimeout: number;
}

const PLACE = 'etcdStore';
const KNOWN = [
  'client',
  'hosts',
  'auth',
  'credentials',
  'options',
  'prefix',
  'commandTimeout',
  'pollInterval',
  'connectTimeout',
];
const FOR_HOSTS = ['auth', 'credentials', 'options'] as const;
const LONGEST_PREFIX = 200;

/** @throws LockOptionsError */
export function etcdSettings(options: EtcdStoreOptions): EtcdSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw wrong(`the options are ${show(options)}, but must be an object with a client or hosts`);
  }
  refuseUnknown(options, PLACE, KNOWN);
  const duration = (name: 'commandTimeout' | 'pollInterval' | 'connectTimeout', ms: number): number =>
    parseDuration(options[name] ?? ms, { min: 10 }, name, PLACE);
  return {
    source: sourceOf(options),
    prefix: prefixOf(options.prefix ?? 'lock'),
    commandTimeout: duration('commandTimeout', 2_000),
    pollInterval: duration('pollInterval', 5_000),
    connectTimeout: duration('connectTimeout', 5_000),
  };
}

function sourceOf({ client, hosts, auth, credentials, options }: EtcdStoreOptions): EtcdSettings['source'] {
  if ((client === undefined) === (hosts === undefined)) {
    throw wrong(
      `${client === undefined ? 'neither client nor hosts is' : 'both client and hosts are'} given. Give one`,
    );
  }
  const given = { auth, credentials, options };
  for (const name of FOR_HOSTS) {
    const value: unknown = given[name];
    if (value === undefined) continue;
    if (client !== undefined) throw wrong(`${name} is for hosts. A client has its own`);
    // Not shown: it may be a secret.
    if (typeof value !== 'object' || value === null) throw wrong(`${name} must be an object`);
  }
  if (client !== undefined) {
    const problem = clientProblem(client);
    if (problem) throw wrong(`client is ${problem}, but must be an \`Etcd3\` of etcd3 1.x`);
    return { client };
  }
  checkAuth(auth);
  if (credentials !== undefined && !Buffer.isBuffer(credentials.rootCertificate)) {
    throw wrong(`credentials.rootCertificate is ${show(credentials.rootCertificate)}, but must be a Buffer`);
  }
  return { hosts: hostsOf(hosts, credentials !== undefined), auth, credentials, options: { ...options } };
}

/** Never shows a password. */
function checkAuth(auth: EtcdStoreOptions['auth']): void {
  if (auth === undefined) return;
  for (const name of ['username', 'password'] as const) {
    if (typeof auth[name] !== 'string' || auth[name] === '') {
      throw wrong(`auth.${name} must be a text that is not empty`);
    }
  }
}

/** Never shows what it was given: somebody may have put a password in it. */
function hostsOf(hosts: unknown, tls: boolean): readonly string[] {
  const all: readonly unknown[] = Array.isArray(hosts) ? hosts : [hosts];
  if (all.length === 0) throw wrong('hosts is empty. Give at least one, such as http://localhost:2379');
  const checked = all.map((host) => {
    if (typeof host === 'string' && /^(https?:\/\/)?(\[[0-9a-f:]+\]|[^\s/:@]+):\d+\/?$/i.test(host)) {
      return host.replace(/\/$/, '');
    }
    throw wrong(
      `hosts has ${typeof host === 'string' ? 'one that' : `${show(host)}, which`} is not like http://localhost:2379`,
    );
  });
  const secure = checked.filter((host) => /^https:/i.test(host)).length;
  if (secure > 0 && secure < checked.length) throw wrong('hosts mixes https: with others. Use it for all or for none');
  if (tls && secure === 0 && checked.some((host) => /^http:/i.test(host))) {
    throw wrong("credentials are for TLS, but hosts begin with 'http:'. Use 'https:'");
  }
  return [...new Set(checked)];
}

function prefixOf(prefix: unknown): string {
  if (
    typeof prefix === 'string' &&
    prefix.length <= LONGEST_PREFIX &&
    /^[^/\s](.*[^/\s])?$/s.test(prefix) &&
    !/\p{Cs}/u.test(prefix)
  ) {
    return prefix;
  }
  throw wrong(
    `prefix is ${show(prefix)}, but must be a text of 1 to ${LONGEST_PREFIX} characters that neither begins nor ends with a slash or a space`,
  );
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`${PLACE}: ${problem}.`);
}
