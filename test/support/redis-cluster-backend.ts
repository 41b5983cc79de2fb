import type { ConformanceHooks } from '../../lib/testing/index.js';
import { proxyFaults } from './proxy-faults.js';
import { RedisCluster } from './redis-cluster.js';

type EndFault = () => void | Promise<void>;

/** A cluster, and what the conformance suite breaks of it. */
export class RedisClusterBackend {
  private constructor(readonly cluster: RedisCluster) {}

  static async start(): Promise<RedisClusterBackend> {
    return new RedisClusterBackend(await RedisCluster.start());
  }

  /** Each fault strikes all nodes at once, and none lasts so long that a replica would take over. */
  hooks(): ConformanceHooks {
    const { members } = this.cluster;
    const faults = members.map(({ proxy, server }) => proxyFaults(proxy, server));
    const all = (name: 'pauseServer' | 'refuseConnections' | 'dropReplies') => async (): Promise<EndFault> => {
      const ends: EndFault[] = [];
      for (const fault of faults) ends.push(await (fault[name] as () => Promise<EndFault>)());
      return () => ends.forEach((end) => void end());
    };
    return {
      pauseServer: all('pauseServer'),
      refuseConnections: all('refuseConnections'),
      breakConnections: () => members.forEach(({ proxy }) => proxy.cut({ refuse: false })),
      dropReplies: all('dropReplies'),
      loseData: async () => {
        await Promise.all(members.map((member) => member.kill()));
        await Promise.all(members.map((member) => member.run()));
        await this.cluster.waitUntilHealthy();
      },
    };
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
  }
}
