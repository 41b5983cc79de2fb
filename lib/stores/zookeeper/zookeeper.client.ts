import { show } from '../../options/duration.js';

/** What is used of a client that `createClient()` of node-zookeeper-client returns. */
export interface ZookeeperClient {
  getState(): object;
  getSessionId(): Buffer;
  getSessionTimeout(): number;
  create(...args: never[]): void;
  remove(...args: never[]): void;
  getData(...args: never[]): void;
  getChildren(...args: never[]): void;
  transaction(): object;
  on(event: string, listener: (...args: never[]) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
}

/** An `ACL` of node-zookeeper-client. */
export interface ZookeeperAcl {
  toRecord(): object;
}

export const ACCEPTED_CLIENT = 'what createClient() of node-zookeeper-client returns';

/** The codes of the library's `State`. */
export const CLIENT_STATE = { disconnected: 0, connected: 3, authFailed: 4, expired: -122 } as const;

/** The codes of the library's connection manager. */
export const MANAGER_STATE = { connecting: 1, closing: -1, closed: -2 } as const;

/** Numbers of 64 bits are buffers in this library, because it is older than BigInt. */
export interface Stat {
  readonly czxid: Buffer;
  readonly ephemeralOwner: Buffer;
}

export interface NodeEvent {
  getType(): number;
}

type Done<T extends unknown[]> = (error: Error | null | undefined, ...values: T) => void;

/** A client as it is called here. */
export interface ClientCalls extends ZookeeperClient {
  readonly options?: object;
  readonly connectionManager?: ConnectionManager;
  getState(): { readonly code: number };
  connect(): void;
  close(): void;
  create(
    path: string,
    data: Buffer | undefined,
    acl: readonly ZookeeperAcl[] | undefined,
    mode: number,
    done: Done<[path: string]>,
  ): void;
  remove(path: string, version: number, done: Done<[]>): void;
  getData(
    path: string,
    watcher: ((event: NodeEvent) => void) | undefined,
    done: Done<[data: Buffer | undefined, stat: Stat]>,
  ): void;
  getChildren(path: string, watcher: undefined, done: Done<[children: string[]]>): void;
  transaction(): { check(path: string, version: number): { commit(done: Done<[unknown]>): void } };
}

/** What is used of the library's insides. All of it may be missing in another version: then its use is left out. */
export interface ConnectionManager {
  readonly state?: number;
  readonly socket?: { destroy(error?: Error): unknown };
  readonly chrootPath?: string;
  queue?(request: ClientRequest, done?: (error: unknown, response: unknown) => void): void;
  on?(event: 'state', listener: (state: number) => void): unknown;
  removeListener?(event: 'state', listener: (state: number) => void): unknown;
}

export interface ClientRequest {
  readonly header: { type: number };
  toBuffer(): Buffer;
}

/** Whether requests can be sent. A client that is being closed calls itself connected until it is. */
export function isConnected(client: ClientCalls): boolean {
  return client.getState().code === CLIENT_STATE.connected && client.connectionManager?.state !== MANAGER_STATE.closing;
}

const METHODS = [
  'getState',
  'getSessionId',
  'getSessionTimeout',
  'create',
  'remove',
  'getData',
  'getChildren',
  'transaction',
  'on',
  'removeListener',
];

/** What is wrong with a client, or `undefined`. */
export function clientProblem(client: unknown): string | undefined {
  if (typeof client !== 'object' || client === null) return show(client);
  const methods = client as Record<string, unknown>;
  if (METHODS.every((name) => typeof methods[name] === 'function')) return undefined;
  return typeof methods['aw_create'] === 'function' ? 'a client of the package zookeeper' : show(client);
}
