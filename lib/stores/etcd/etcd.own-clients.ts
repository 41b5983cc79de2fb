import { LockOptionsError } from '../../errors/index.js';
import type { EtcdCall, EtcdCallOptions, EtcdClient } from './etcd.client.js';
import type { OwnClientOptions } from './etcd.options.js';

/** How the client package is loaded. Replaced by tests. */
export type LoadEtcd3 = () => Promise<unknown>;

type Etcd3Class = new (options: object) => EtcdClient;

/** etcd3's fault handling, switched off: which member is asked, and how often, is decided here. */
const ONCE = {
  execute: <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return Promise.resolve(work());
    } catch (error) {
      return Promise.reject(error);
    }
  },
};

/** What gRPC tells of a call before it starts. */
interface Invocation {
  readonly call: EtcdCall;
  readonly callOptions: EtcdCallOptions;
}
type Transform = (invocation: Invocation) => Invocation;

const installed: LoadEtcd3 = () => import('etcd3');

let stores = 0;

/**
 * How to make a client for one member. One client for all of them would choose a member at random for each call, and would try
 * a member that is silent until the call's time is over.
 *
 * @param callTimeout ms for a login
 */
export async function ownClients(
  { auth, credentials, options }: OwnClientOptions,
  callTimeout: number,
  load: LoadEtcd3 = installed,
): Promise<(host: string) => EtcdClient> {
  const Etcd3 = await loaded(load);
  stores += 1;
  const given = options['grpcOptions'] as { readonly callInvocationTransformer?: Transform } | undefined;
  const grpcOptions = {
    // Also a connection that swallows everything is given up before long. More often than every 5 s a server takes for abuse.
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 3_000,
    'grpc.initial_reconnect_backoff_ms': 50,
    'grpc.max_reconnect_backoff_ms': 1_000,
    // The names of all entries of a session come in one message.
    'grpc.max_receive_message_length': -1,
    'grpc.enable_channelz': 0,
    ...given,
    // etcd3 keeps the calls to itself.
    callInvocationTransformer: (invocation: Invocation): Invocation => {
      invocation.callOptions.started?.(invocation.call);
      return given?.callInvocationTransformer?.(invocation) ?? invocation;
    },
    // The services of one store share a connection, those of different stores do not: one of them gives it up for all.
    'grpc.secondary_user_agent': `nestjs-distributed-lock/${stores}`,
  };
  return (host) => {
    try {
      return new Etcd3({
        faultHandling: { host: () => ONCE, global: ONCE },
        ...options,
        hosts: host,
        grpcOptions,
        ...(credentials && { credentials }),
        ...(auth && { auth: { ...auth, callOptions: () => ({ deadline: Date.now() + callTimeout }) } }),
      });
    } catch (error) {
      throw new LockOptionsError(`etcdStore: etcd3 refuses the options: ${(error as Error).message}`);
    }
  };
}

async function loaded(load: LoadEtcd3): Promise<Etcd3Class> {
  try {
    const namespace = (await load()) as { Etcd3?: Etcd3Class; default?: { Etcd3?: Etcd3Class } };
    // A CommonJS package has its names on the default export where the loader did not find them.
    return (namespace.Etcd3 ?? namespace.default?.Etcd3) as Etcd3Class;
  } catch (error) {
    const code = (error as { code?: unknown } | null)?.code;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new LockOptionsError('etcdStore: hosts needs a client. Install etcd3, or pass a client.', error);
  }
}
