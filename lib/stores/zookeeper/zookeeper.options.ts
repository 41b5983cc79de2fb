import { LockOptionsError } from '../../errors/index.js';
import { parseDuration, show, type Duration } from '../../options/duration.js';
import { refuseUnknown } from '../../options/known-options.js';
import { ACCEPTED_CLIENT, clientProblem, type ZookeeperAcl, type ZookeeperClient } from './zookeeper.client.js';

/** Credentials for `addAuthInfo()`. */
export interface ZookeeperAuth {
  /** Such as `'digest'`. */
  readonly scheme: string;
  /** For `digest`: `'user:password'`. */
  readonly auth: string | Buffer;
}

/** How to reach ZooKeeper: exactly one of `connectionString` and `client`. */
export interface ZookeeperStoreOptions {
  /**
   * `'host:port,host:port'`, with a chroot behind it if you like: `'zk1:2181,zk2:2181,zk3:2181/app'`. The store makes its own
   * client of node-zookeeper-client, a new one whenever a session has expired, and closes it at shutdown.
   */
  readonly connectionString?: string | undefined;
  /**
   * A client of your own, connected by you. It stays yours: it is never closed, and its options are never changed; a connection of it
   * that has gone silent is cut, so that it connects anew. Locks live in its session. Once that has expired, which such a client never recovers
   * from, every call fails as unavailable: only you can make a new client.
   */
  readonly client?: ZookeeperClient | undefined;
  /**
   * How long the servers keep a session, and with it every lock, of a process that they do not hear of. With a `connectionString`;
   * the servers may change it to what they allow, 2 to 20 of their ticks unless configured otherwise. @default '10s'
   */
  readonly sessionTimeout?: Duration | undefined;
  /** Credentials, with a `connectionString`. */
  readonly auth?: readonly ZookeeperAuth[] | undefined;
  /**
   * The ACL of every node that is made, such as `ACL.CREATOR_ALL_ACL` of node-zookeeper-client. @default anyone may do anything,
   * which is ZooKeeper's own
   */
  readonly acl?: readonly ZookeeperAcl[] | undefined;
  /** The path, below the chroot if there is one, that all locks are under. It is made if it is missing. @default '/locks' */
  readonly root?: string | undefined;
  /** How long one request may take before ZooKeeper counts as unavailable. @default '2s' */
  readonly commandTimeout?: Duration | undefined;
  /** How long the first connection may take. @default '5s' */
  readonly connectTimeout?: Duration | undefined;
  /**
   * How often a waiting process looks by itself. It is woken by a watch; this bounds what a lost event would cost.
   * @default '5s'
   */
  readonly pollInterval?: Duration | undefined;
  /**
   * The servers' `tickTime`. Twice a tick a follower tells its leader which sessions it has heard of, so that this decides
   * how soon a sign of life counts. @default half of the session's time, at most 3 s, which is ZooKeeper's default
   */
  readonly tickTime?: Duration | undefined;
}

export interface OwnClientSource {
  readonly connectionString: string;
  readonly auth: readonly ZookeeperAuth[];
  /** ms. */
  readonly sessionTimeout: number;
}

export interface ZookeeperSettings {
  readonly source: { readonly client: ZookeeperClient } | OwnClientSource;
  readonly acl: readonly ZookeeperAcl[] | undefined;
  readonly root: string;
  /** ms, like the others. */
  readonly commandTimeout: number;
  readonly connectTimeout: number;
  readonly pollInterval: number;
  readonly tickTime: number | undefined;
}

const PLACE = 'zookeeperStore';
const KNOWN = [
  'client',
  'connectionString',
  'sessionTimeout',
  'auth',
  'acl',
  'root',
  'commandTimeout',
  'connectTimeout',
  'pollInterval',
  'tickTime',
];

/** @throws LockOptionsError */
export function zookeeperSettings(options: ZookeeperStoreOptions): ZookeeperSettings {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw wrong(`the options are ${show(options)}, but must be an object with a connectionString or a client`);
  }
  refuseUnknown(options, PLACE, KNOWN);
  const duration = (name: 'commandTimeout' | 'connectTimeout' | 'pollInterval', ms: number): number =>
    parseDuration(options[name] ?? ms, { min: 10 }, name, PLACE);
  const source = sourceOf(options);
  const tickTime =
    options.tickTime === undefined ? undefined : parseDuration(options.tickTime, { min: 1 }, 'tickTime', PLACE);
  if (tickTime !== undefined && 'sessionTimeout' in source && 2 * tickTime > source.sessionTimeout) {
    throw wrong(
      `tickTime is ${tickTime} ms, but no server grants a session shorter than twice that, and sessionTimeout is ${source.sessionTimeout} ms`,
    );
  }
  return {
    source,
    acl: aclOf(options.acl),
    root: rootOf(options.root ?? '/locks'),
    commandTimeout: duration('commandTimeout', 2_000),
    connectTimeout: duration('connectTimeout', 5_000),
    pollInterval: duration('pollInterval', 5_000),
    tickTime,
  };
}

function sourceOf({
  client,
  connectionString,
  sessionTimeout,
  auth,
}: ZookeeperStoreOptions): ZookeeperSettings['source'] {
  if ((client === undefined) === (connectionString === undefined)) {
    const problem =
      client === undefined ? 'neither client nor connectionString is' : 'both client and connectionString are';
    throw wrong(`${problem} given. Give one`);
  }
  if (client !== undefined) {
    if (sessionTimeout !== undefined) throw wrong('sessionTimeout is for a connectionString. A client has its own');
    if (auth !== undefined) throw wrong('auth is for a connectionString. Call addAuthInfo() of your client');
    const problem = clientProblem(client);
    if (problem) throw wrong(`client is ${problem}, but must be ${ACCEPTED_CLIENT}`);
    return { client };
  }
  return {
    connectionString: connectionStringOf(connectionString),
    auth: authOf(auth ?? []),
    sessionTimeout: parseDuration(sessionTimeout ?? 10_000, { min: 100 }, 'sessionTimeout', PLACE),
  };
}

function connectionStringOf(value: unknown): string {
  // The library takes no IPv6 addresses, and what is behind the first slash as the chroot.
  const hosts = /^[^\s,:/[\]@]+(:\d{1,5})?(,[^\s,:/[\]@]+(:\d{1,5})?)*$/;
  if (typeof value === 'string') {
    const slash = value.indexOf('/');
    const chroot = slash === -1 ? '/' : value.slice(slash);
    const servers = slash === -1 ? value : value.slice(0, slash);
    if (!hosts.test(servers)) throw notConnectable(value);
    const portless = servers.split(',').find((server) => !server.includes(':'));
    if (portless !== undefined)
      throw wrong(`connectionString has '${portless}' without a port, but must look like 'host:2181,host:2181'`);
    for (const port of servers.match(/(?<=:)\d+/g) ?? []) {
      if (Number(port) < 1 || Number(port) > 65_535)
        throw wrong(`connectionString has the port ${port}, but must have one from 1 to 65535`);
    }
    if (chroot.includes(','))
      throw wrong(
        `connectionString is ${show(value)}, but the chroot stands once, at the end: 'host:2181,host:2181/chroot'`,
      );
    if (chroot === '/' || isPath(chroot)) return value;
  }
  throw notConnectable(value);
}

function notConnectable(value: unknown): LockOptionsError {
  return wrong(
    `connectionString is ${show(value)}, but must look like 'host:2181,host:2181' or 'host:2181,host:2181/chroot', with names or IPv4 addresses`,
  );
}

function authOf(value: unknown): readonly ZookeeperAuth[] {
  // What it was given is not shown: it may be a password.
  if (!Array.isArray(value)) throw wrong('auth must be an array of { scheme, auth }');
  for (const item of value as unknown[]) {
    const { scheme, auth } = Object(item) as { scheme?: unknown; auth?: unknown };
    if (typeof scheme !== 'string' || scheme === '')
      throw wrong(`auth: a scheme is ${show(scheme)}, but must be a text`);
    if (typeof auth !== 'string' && !Buffer.isBuffer(auth)) {
      throw wrong(`auth: the credentials of '${scheme}' must be a text, such as 'user:password', or a Buffer`);
    }
    if (scheme === 'digest' && !auth.toString().includes(':')) {
      throw wrong(`auth: the credentials of 'digest' have no password. They must look like 'user:password'`);
    }
  }
  return value as ZookeeperAuth[];
}

function aclOf(value: unknown): readonly ZookeeperAcl[] | undefined {
  if (value === undefined) return undefined;
  const isAcl = (item: unknown): boolean => typeof (Object(item) as { toRecord?: unknown }).toRecord === 'function';
  if (Array.isArray(value) && value.length > 0 && value.every(isAcl)) return value as ZookeeperAcl[];
  throw wrong(`acl is ${show(value)}, but must be an array of ACLs of node-zookeeper-client that is not empty`);
}

function rootOf(value: unknown): string {
  if (isPath(value) && value !== '/zookeeper' && !value.startsWith('/zookeeper/')) return value;
  throw wrong(
    `root is ${show(value)}, but must be an absolute path such as '/locks' that does not end in a slash and is not below '/zookeeper'`,
  );
}

/** What every server takes for a path other than `/`. */
function isPath(value: unknown): value is string {
  if (typeof value !== 'string' || !value.startsWith('/')) return false;
  return value
    .slice(1)
    .split('/')
    .every((name) => name !== '' && name !== '.' && name !== '..' && !/\p{Cc}|\p{Cs}|\p{Co}|\p{Cn}/u.test(name));
}

function wrong(problem: string): LockOptionsError {
  return new LockOptionsError(`${PLACE}: ${problem}.`);
}
