import { show } from '../../options/duration.js';

export interface EtcdHeader {
  readonly revision: string;
  /** The number of the leader's reign, as the member that answered knew it. */
  readonly raft_term: string;
}

export interface EtcdKeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly create_revision: string;
  readonly mod_revision: string;
  readonly lease: string;
}

export interface EtcdTxnReply {
  readonly header: EtcdHeader;
  readonly succeeded: boolean;
  readonly responses: readonly {
    readonly response_range?: { readonly kvs: readonly EtcdKeyValue[]; readonly count: string };
  }[];
}

export interface EtcdKeepAliveReply {
  readonly header: EtcdHeader;
  readonly TTL: string;
}

export interface EtcdTimeToLiveReply {
  readonly TTL: string;
  readonly keys: readonly Buffer[];
}

export interface EtcdWatchReply {
  readonly header: EtcdHeader;
  readonly watch_id: string;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly events: readonly unknown[];
}

/** A gRPC stream in both directions. */
export interface EtcdStream<Reply> {
  write(request: object): unknown;
  end(): unknown;
  cancel(): void;
  on(event: 'data', listener: (reply: Reply) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
}

/** A call of gRPC that is under way. */
export interface EtcdCall {
  cancel(): void;
}

/** What a call is given. */
export interface EtcdCallOptions {
  /** ms since 1970 */
  readonly deadline?: number;
  /** Our own clients hand out each call when it starts. */
  readonly started?: (call: EtcdCall) => void;
}

/** What is used of an `Etcd3` of etcd3 1.x. */
export interface EtcdClient {
  readonly kv: {
    txn(request: object, options?: EtcdCallOptions): Promise<EtcdTxnReply>;
    deleteRange(request: object, options?: EtcdCallOptions): Promise<{ readonly deleted: string }>;
  };
  readonly leaseClient: {
    leaseGrant(request: object, options?: EtcdCallOptions): Promise<{ readonly TTL: string }>;
    leaseRevoke(request: object, options?: EtcdCallOptions): Promise<unknown>;
    leaseTimeToLive(request: object, options?: EtcdCallOptions): Promise<EtcdTimeToLiveReply>;
    leaseKeepAlive(options?: EtcdCallOptions): Promise<EtcdStream<EtcdKeepAliveReply>>;
  };
  readonly watchClient: {
    watch(options?: EtcdCallOptions): Promise<EtcdStream<EtcdWatchReply>>;
  };
  close(): void;
}

/** What is wrong with a client, or `undefined`. */
export function clientProblem(client: unknown): string | undefined {
  const { kv, leaseClient, watchClient, close } = Object(client) as Record<string, unknown>;
  if (!has(kv, 'txn') || !has(leaseClient, 'leaseKeepAlive') || !has(watchClient, 'watch')) return show(client);
  // A namespace of a client has no connections of its own to close, and the calls used here would pass its prefix by.
  return typeof close === 'function' ? undefined : 'a namespace of a client';
}

function has(value: unknown, method: string): boolean {
  return typeof (Object(value) as Record<string, unknown>)[method] === 'function';
}
