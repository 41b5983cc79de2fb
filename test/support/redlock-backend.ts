import type { ConformanceHooks } from '../../lib/testing/index.js';
import { proxyFaults } from './proxy-faults.js';
import { RedisServer } from './redis-server.js';
import { TcpProxy } from './tcp-proxy.js';

/** One independent Redis behind a proxy. */
export class RedlockTestNode {
  private constructor(
    readonly server: RedisServer,
    readonly proxy: TcpProxy,
  ) {}

  static async start(args: readonly string[] = []): Promise<RedlockTestNode> {
    const server = await RedisServer.start({ args });
    return new RedlockTestNode(server, await TcpProxy.start(server.port));
  }

  /** By way of the proxy. */
  get url(): string {
    return `redis://127.0.0.1:${this.proxy.port}`;
  }

  /** Past the proxy. */
  get directUrl(): string {
    return this.server.url;
  }

  async stop(): Promise<void> {
    this.server.resume();
    await this.proxy.stop();
    await this.server.stop();
  }
}

type EndFault = () => void | Promise<void>;

/** So many independent servers: what the conformance suite and the fault tests break. */
export class RedlockBackend {
  private constructor(readonly nodes: readonly RedlockTestNode[]) {}

  static async start(count: number, args?: readonly string[]): Promise<RedlockBackend> {
    return new RedlockBackend(await Promise.all(Array.from({ length: count }, () => RedlockTestNode.start(args))));
  }

  get urls(): string[] {
    return this.nodes.map(({ url }) => url);
  }

  get directUrls(): string[] {
    return this.nodes.map(({ directUrl }) => directUrl);
  }

  /** Each fault strikes all nodes at once. */
  hooks(): ConformanceHooks {
    const faults = this.nodes.map(({ proxy, server }) => proxyFaults(proxy, server));
    const all = (name: 'pauseServer' | 'refuseConnections' | 'dropReplies') => async (): Promise<EndFault> => {
      const ends: EndFault[] = [];
      for (const fault of faults) ends.push(await (fault[name] as () => Promise<EndFault>)());
      return () => ends.forEach((end) => void end());
    };
    return {
      pauseServer: all('pauseServer'),
      refuseConnections: all('refuseConnections'),
      breakConnections: () => this.nodes.forEach(({ proxy }) => proxy.cut({ refuse: false })),
      dropReplies: all('dropReplies'),
      loseData: async () => {
        await Promise.all(this.nodes.map(({ server }) => server.restart()));
      },
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}
