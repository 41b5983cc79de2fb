import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parseView, type ClusterLine } from './redis-cluster-view.js';
import { freePort, RedisServer } from './redis-server.js';
import { TcpProxy } from './tcp-proxy.js';

const COMMAND_TIMEOUT = 5_000;

/** A redis-server of a cluster, which clients and replicas reach by way of a proxy only. */
export class RedisClusterNode {
  id = '';
  alive = true;
  readonly #control: Redis;

  private constructor(
    readonly server: RedisServer,
    readonly proxy: TcpProxy,
    readonly busPort: number,
  ) {
    this.#control = new Redis(server.port, '127.0.0.1', {
      // Commands to a node that starts wait for it, each for a limited time.
      retryStrategy: () => 20,
      maxRetriesPerRequest: null,
      commandTimeout: COMMAND_TIMEOUT,
      disconnectTimeout: 100,
      enableReadyCheck: false,
    });
    this.#control.on('error', () => undefined);
  }

  /** @param nodeTimeout ms after which it takes others for dead */
  static async start(nodeTimeout: number): Promise<RedisClusterNode> {
    const busPort = await freePort();
    const settings = {
      'cluster-enabled': 'yes',
      // Otherwise 10,000 above the other port, which may be more than there are.
      'cluster-port': busPort,
      'cluster-node-timeout': nodeTimeout,
      'cluster-announce-ip': '127.0.0.1',
      'cluster-announce-bus-port': busPort,
      'cluster-allow-replica-migration': 'no',
      // A replica of 1,000 keys need not wait for others that might come.
      'repl-diskless-sync-delay': 0,
    };
    // Read again at each start: the proxy's port is known only once the server has its own.
    const live = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const server = await RedisServer.start({ args: live });
    const proxy = await TcpProxy.start(server.port);
    live.push('--cluster-announce-port', String(proxy.port));
    const node = new RedisClusterNode(server, proxy, busPort);
    await node.send('CONFIG', 'SET', 'cluster-announce-port', String(proxy.port));
    node.id = String(await node.send('CLUSTER', 'MYID'));
    return node;
  }

  /** Runs a command past the proxy. */
  send(name: string, ...args: readonly string[]): Promise<unknown> {
    return this.#control.call(name, ...args);
  }

  /** The fields of a section of INFO, or of CLUSTER INFO. */
  async info(section: 'replication' | 'cluster'): Promise<Record<string, string>> {
    const text = await (section === 'cluster' ? this.send('CLUSTER', 'INFO') : this.send('INFO', section));
    const pairs = String(text)
      .split('\r\n')
      .map((line) => line.split(':', 2));
    return Object.fromEntries(pairs.filter(([, value]) => value !== undefined)) as Record<string, string>;
  }

  /** The cluster as this node sees it. */
  async view(): Promise<ClusterLine[]> {
    return parseView(String(await this.send('CLUSTER', 'NODES')));
  }

  /** What it says of itself. */
  async own(): Promise<ClusterLine> {
    return (await this.view()).find(({ flags }) => flags.includes('myself'))!;
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    this.alive = false;
    await this.server.kill();
  }

  /** Starts it again, without its data, but with its place in the cluster. */
  async run(): Promise<void> {
    await this.server.run();
    this.alive = true;
  }

  /** Waits until this replica has everything that its master had when this was called. */
  async catchUp(master: RedisClusterNode): Promise<void> {
    const { master_repl_offset: target } = await master.info('replication');
    let state = 'no answer';
    await waitFor(
      () => `a replica to catch up with ${target}: ${state}`,
      async () => {
        const { master_link_status: link, slave_repl_offset: offset } = await this.info('replication');
        state = `it is at ${offset}, its link is ${link}`;
        return link === 'up' && Number(offset) >= Number(target) ? true : undefined;
      },
    );
  }

  async stop(): Promise<void> {
    this.#control.disconnect();
    this.server.resume();
    await this.proxy.stop();
    await this.server.stop();
  }
}

/** Asks until there is an answer. One that fails is asked again. */
export async function waitFor<T>(
  what: string | (() => string),
  ask: () => Promise<T | undefined>,
  limit = 15_000,
): Promise<T> {
  const end = performance.now() + limit;
  for (;;) {
    let failure: unknown;
    const answer = await ask().catch((error: unknown) => void (failure = error));
    if (answer !== undefined) return answer;
    if (performance.now() > end) {
      throw new Error(`waited ${limit} ms in vain for ${typeof what === 'string' ? what : what()}`, { cause: failure });
    }
    await sleep(20);
  }
}
