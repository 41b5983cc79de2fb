import { ask } from './redis-sentinel-ask.js';
import { RedisServer } from './redis-server.js';
import { ReplicationGate } from './replication-gate.js';
import { TcpProxy } from './tcp-proxy.js';

/** A server of data. Sentinels, replicas and clients reach it through the proxy only, and know it by its port. */
export interface RedisSentinelNode {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  readonly gate: ReplicationGate;
}

export async function startNode(): Promise<RedisSentinelNode> {
  // Replicas need not wait for more of them before they are sent the data.
  const args = ['--repl-diskless-sync-delay', '0'];
  const server = await RedisServer.start({ args });
  const gate = await ReplicationGate.start(server.port);
  const proxy = await TcpProxy.start(gate.port);
  // The port of its proxy is known only now. Later starts have it from the first.
  const announced = { 'replica-announce-ip': '127.0.0.1', 'replica-announce-port': String(proxy.port) };
  for (const [name, value] of Object.entries(announced)) {
    await ask(server.port, 'CONFIG', 'SET', name, value);
    args.push(`--${name}`, value);
  }
  return { server, gate, proxy };
}

export async function follow(replica: RedisSentinelNode, master: RedisSentinelNode): Promise<void> {
  await ask(replica.server.port, 'REPLICAOF', '127.0.0.1', String(master.proxy.port));
}

/** How much has been written on a node, as a position in its stream of replication. */
export async function written(node: RedisSentinelNode): Promise<number> {
  return Number((await replication(node))['master_repl_offset']);
}

/** How many replicas have confirmed to `master` all that is before a position. */
export async function following(master: RedisSentinelNode, position: number): Promise<number> {
  const replicas = Object.entries(await replication(master)).filter(([name]) => /^slave\d+$/.test(name));
  const reached = replicas.map(([, text]) => Number(/state=online,offset=(\d+)/.exec(text)?.[1]));
  return reached.filter((offset) => offset >= position).length;
}

export async function replication({ server }: RedisSentinelNode): Promise<Record<string, string>> {
  const text = (await ask(server.port, 'INFO', 'replication')) as string;
  return Object.fromEntries([...text.matchAll(/^(\w+):(.*)\r$/gm)].map(([, name, value]) => [name, value]));
}
