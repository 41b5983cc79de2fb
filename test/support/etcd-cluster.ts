import { setTimeout as sleep } from 'node:timers/promises';
import { Etcd3 } from 'etcd3';
import { EtcdServer, type EtcdServerOptions } from './etcd-server.js';
import { freePort } from './redis-server.js';

/** Three members of one etcd. */
export class EtcdCluster {
  private constructor(readonly members: readonly EtcdServer[]) {}

  static async start(options: Pick<EtcdServerOptions, 'args'> = {}): Promise<EtcdCluster> {
    const peers = new Map<string, string>();
    for (const name of ['one', 'two', 'three']) peers.set(name, `http://127.0.0.1:${await freePort()}`);
    const members: EtcdServer[] = [];
    for (const name of peers.keys()) members.push(await EtcdServer.prepare({ ...options, name, peers }));
    await Promise.all(members.map((member) => member.run()));
    return new EtcdCluster(members);
  }

  get urls(): string[] {
    return this.members.map(({ url }) => url);
  }

  /** The member that leads, as it says itself. */
  async leader(): Promise<EtcdServer> {
    for (;;) {
      for (const member of this.members) if (await leads(member)) return member;
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }
}

async function leads({ url }: EtcdServer): Promise<boolean> {
  const client = new Etcd3({ hosts: url });
  try {
    const { header, leader } = await client.maintenance.status({ deadline: Date.now() + 500 });
    return header.member_id === leader;
  } catch {
    return false;
  } finally {
    client.close();
  }
}
