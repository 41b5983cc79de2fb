import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './redis-server.js';
import { TcpProxy } from './tcp-proxy.js';
import { ZookeeperServer } from './zookeeper-server.js';

export interface ZookeeperClusterOptions {
  readonly config?: readonly string[];
  /** The last member reaches the others by way of proxies, so that it can be cut off from its leader. */
  readonly proxied?: boolean;
}

interface Ports {
  readonly client: number;
  readonly quorum: number;
  readonly election: number;
}

const SIZE = 3;

/** Three ZooKeeper servers of one's own. */
export class ZookeeperCluster {
  private constructor(
    readonly members: readonly ZookeeperServer[],
    /** From the last member to each of the others. */
    readonly proxies: readonly TcpProxy[],
  ) {}

  static async start({ config = [], proxied = false }: ZookeeperClusterOptions = {}): Promise<ZookeeperCluster> {
    const ports: Ports[] = [];
    for (let id = 1; id <= SIZE; id += 1) {
      ports.push({ client: await freePort(), quorum: await freePort(), election: await freePort() });
    }
    const proxies = await Promise.all(proxied ? ports.slice(0, -1).map(({ quorum }) => TcpProxy.start(quorum)) : []);
    const members = await Promise.all(
      ports.map(({ client }, index) => {
        const seen = ports.map((port, other) => {
          const proxy = index === SIZE - 1 ? proxies[other] : undefined;
          return `server.${other + 1}=127.0.0.1:${proxy?.port ?? port.quorum}:${port.election}`;
        });
        return ZookeeperServer.prepare({ config, member: { id: index + 1, port: client, servers: seen } });
      }),
    );
    const cluster = new ZookeeperCluster(members, proxies);
    for (const member of members) member.launch();
    await cluster.ready();
    return cluster;
  }

  get url(): string {
    return this.members.map(({ url }) => url).join(',');
  }

  /** Waits until all of `members` serve clients. */
  async ready(members: readonly ZookeeperServer[] = this.members, limit = 60_000): Promise<void> {
    const end = performance.now() + limit;
    for (const member of members) {
      while ((await modeOf(member)) === undefined) {
        if (performance.now() > end) throw new Error('the ZooKeeper ensemble did not become ready');
        await sleep(50);
      }
    }
  }

  async leader(): Promise<ZookeeperServer> {
    for (;;) {
      const modes = await Promise.all(this.members.map(modeOf));
      const leader = this.members[modes.indexOf('leader')];
      if (leader) return leader;
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
    await Promise.all(this.proxies.map((proxy) => proxy.stop()));
  }
}

async function modeOf(member: ZookeeperServer): Promise<string | undefined> {
  const answer = await member.ask('srvr').catch(() => '');
  return /^Mode: (leader|follower)/m.exec(answer)?.[1];
}
