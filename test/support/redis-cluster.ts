import { createRequire } from 'node:module';
import { RedisClusterNode, waitFor } from './redis-cluster-node.js';
import { serves, slotsOf, summary } from './redis-cluster-view.js';

// It has no types.
const keySlot = createRequire(import.meta.url)('cluster-key-slot') as (key: string) => number;

const MASTERS = 3;
const SLOTS = 16_384;
const HEALTH_LIMIT = 30_000;

/**
 * ms after which members take another for dead. So long that one that is stopped for a while, or a machine that stands still,
 * makes nobody vote: an election while a slot moves leaves members of Redis 7 at odds over the slot for good.
 */
const CALM = 15_000;
/** While a death is to be noticed. */
const ALERT = 1_000;
/** While an ordered failover is under way: members vote once in twice this time over one master's place. */
const VOTING = 2_000;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * A Redis Cluster of one's own: three masters with a replica each. All of them announce the port of a proxy, so that
 * clients are led from one proxy to the next, and so do replicas to their master.
 */
export class RedisCluster {
  private constructor(readonly members: readonly RedisClusterNode[]) {}

  static async start(): Promise<RedisCluster> {
    const members: RedisClusterNode[] = [];
    // One after the other: each takes ports that are free.
    for (let index = 0; index < 2 * MASTERS; index += 1) members.push(await RedisClusterNode.start(CALM));
    const cluster = new RedisCluster(members);
    try {
      // Members tell one another what they know at half of this time: they come together faster.
      await cluster.#setNodeTimeout(500);
      await cluster.#join();
      await cluster.#setNodeTimeout(CALM);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** By way of the proxies. */
  get nodes(): Address[] {
    return this.members.map(({ proxy }) => ({ host: '127.0.0.1', port: proxy.port }));
  }

  /** Past the proxies. What a client is told of the others leads through them all the same. */
  get directNodes(): Address[] {
    return this.members.map(({ server }) => ({ host: '127.0.0.1', port: server.port }));
  }

  slotOf(key: string): number {
    return keySlot(key);
  }

  masterOf(key: string): Promise<RedisClusterNode> {
    return this.masterOfSlot(this.slotOf(key));
  }

  /** The member that serves a slot by its own account; of several, the one with the latest claim. */
  async masterOfSlot(slot: number): Promise<RedisClusterNode> {
    return waitFor(`slot ${slot} to have a master`, async () => {
      let found: RedisClusterNode | undefined;
      let latest = -1;
      for (const member of this.#alive()) {
        const own = await member.own();
        if (own.epoch <= latest || !serves(own, slot)) continue;
        [found, latest] = [member, own.epoch];
      }
      return found;
    });
  }

  /** Those that serve slots now. */
  async masters(): Promise<RedisClusterNode[]> {
    const served = await Promise.all(
      this.#alive().map(async (member) => {
        const { ranges } = await member.own();
        return ranges.length > 0 ? [member] : [];
      }),
    );
    return served.flat();
  }

  async replicaOf(master: RedisClusterNode): Promise<RedisClusterNode> {
    for (const member of this.#alive()) {
      const own = await member.own();
      if (own.master === master.id) return member;
    }
    throw new Error(`no member that is alive replicates ${master.id}`);
  }

  /**
   * Kills the master of a key once its replica has all that it had, and gives it back to be started again. Until then the others
   * are quick to take a silent member for dead.
   */
  async killMasterOf(key: string): Promise<RedisClusterNode> {
    const master = await this.masterOf(key);
    const replica = await this.replicaOf(master);
    await replica.catchUp(master);
    await this.#setNodeTimeout(ALERT);
    await master.kill();
    return master;
  }

  /** Starts what was killed: it comes back as a replica where its own took its place. */
  async restart(member: RedisClusterNode): Promise<void> {
    await member.run();
    await this.waitUntilHealthy();
    await this.#setNodeTimeout(CALM);
  }

  /** Has the replica take the place of a key's master, in order: nothing is lost. Resolves when it serves. */
  async failover(key: string): Promise<void> {
    const master = await this.masterOf(key);
    const replica = await this.replicaOf(master);
    await this.#setNodeTimeout(VOTING);
    await replica.catchUp(master);
    await replica.send('CLUSTER', 'FAILOVER');
    await waitFor(`${replica.id} to take the place of its master`, async () => {
      return (await replica.info('replication'))['role'] === 'master' ? true : undefined;
    });
    await this.waitUntilHealthy();
    await this.#setNodeTimeout(CALM);
  }

  /**
   * Begins to move a slot, and takes `keys` of its keys along. Until {@link finishMoving} its old master answers ASK for
   * what it has not got, and TRYAGAIN where it has got only some of a request's keys.
   */
  async startMoving(slot: number, to: RedisClusterNode, keys = 0): Promise<void> {
    const from = await this.masterOfSlot(slot);
    await to.send('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id);
    await from.send('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id);
    const names = (await from.send('CLUSTER', 'GETKEYSINSLOT', String(slot), String(keys))) as string[];
    await this.moveKeys(names, from, to);
  }

  async moveKeys(names: readonly string[], from: RedisClusterNode, to: RedisClusterNode): Promise<void> {
    if (names.length === 0) return;
    const target = ['127.0.0.1', String(to.server.port), '', '0', '5000'];
    await from.send('MIGRATE', ...target, 'REPLACE', 'KEYS', ...names);
  }

  /** Moves the rest of a slot's keys, and tells all masters where it is now. */
  async finishMoving(slot: number): Promise<void> {
    const from = await this.masterOfSlot(slot);
    const to = await this.#targetOf(slot, from);
    for (;;) {
      const names = (await from.send('CLUSTER', 'GETKEYSINSLOT', String(slot), '100')) as string[];
      if (names.length === 0) break;
      await this.moveKeys(names, from, to);
    }
    const others = (await this.masters()).filter((master) => master !== from && master !== to);
    for (const member of [to, from, ...others]) {
      await member.send('CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id);
    }
    await this.waitUntilHealthy();
  }

  /** Moves the slot of a key, with all that stands in it, to another master. */
  async moveSlotOf(key: string): Promise<void> {
    const from = await this.masterOf(key);
    const to = (await this.masters()).find((master) => master !== from)!;
    await this.startMoving(this.slotOf(key), to);
    await this.finishMoving(this.slotOf(key));
  }

  /** Runs a command on every master. */
  async onMasters(name: string, ...args: readonly string[]): Promise<void> {
    await Promise.all((await this.masters()).map((master) => master.send(name, ...args)));
  }

  /** The names of all keys that match, each as often as masters have it. */
  async keys(pattern: string): Promise<string[]> {
    const found = await Promise.all((await this.masters()).map((master) => master.send('KEYS', pattern)));
    return (found as string[][]).flat().sort();
  }

  /** Waits until all members that are alive agree on who serves what, serve it, and have replicas that follow. */
  async waitUntilHealthy(): Promise<void> {
    let problem = 'nobody answers';
    await waitFor(
      () => `the cluster to be healthy: ${problem}`,
      async () => {
        problem = (await this.#problem()) ?? '';
        return problem === '' ? true : undefined;
      },
      HEALTH_LIMIT,
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }

  async #setNodeTimeout(ms: number): Promise<void> {
    await Promise.all(this.#alive().map((member) => member.send('CONFIG', 'SET', 'cluster-node-timeout', String(ms))));
  }

  async #join(): Promise<void> {
    const [first, ...others] = this.members as [RedisClusterNode, ...RedisClusterNode[]];
    for (const [index, member] of this.members.entries()) {
      await member.send('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      if (index >= MASTERS) continue;
      const [from, to] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / MASTERS)) as [number, number];
      await member.send('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1));
    }
    for (const { proxy, busPort } of others) {
      await first.send('CLUSTER', 'MEET', '127.0.0.1', String(proxy.port), String(busPort));
    }
    await waitFor('all members to know each other', async () => {
      const views = await Promise.all(this.members.map((member) => member.view()));
      const known = views.map((view) => view.filter(({ flags }) => !flags.includes('handshake')).length);
      return known.every((count) => count === this.members.length) ? true : undefined;
    });
    for (const [index, replica] of this.members.slice(MASTERS).entries()) {
      await replica.send('CLUSTER', 'REPLICATE', this.members[index]!.id);
    }
    await this.waitUntilHealthy();
  }

  async #targetOf(slot: number, from: RedisClusterNode): Promise<RedisClusterNode> {
    const { moving } = await from.own();
    const target = this.members.find(({ id }) => moving.includes(`[${slot}->-${id}]`));
    if (!target) throw new Error(`slot ${slot} is not on the move from ${from.id}: ${moving.join(' ')}`);
    return target;
  }

  async #problem(): Promise<string | undefined> {
    const alive = this.#alive();
    const views = await Promise.all(alive.map((member) => member.view()));
    const served = views.map(summary);
    if (new Set(served).size > 1) return `the members do not agree:\n${[...new Set(served)].join('\n')}`;
    if (views[0]!.reduce((sum, line) => sum + slotsOf(line), 0) !== SLOTS) return `slots are not served: ${served[0]}`;
    for (const member of alive) {
      const { cluster_state: state } = await member.info('cluster');
      if (state !== 'ok') return `${member.id} says ${state}`;
      const { role, master_link_status: link } = await member.info('replication');
      if (role === 'slave' && link !== 'up') return `the replica ${member.id} is not connected`;
    }
    return undefined;
  }

  #alive(): RedisClusterNode[] {
    return this.members.filter(({ alive }) => alive);
  }
}
