import { ask, eventually } from './redis-sentinel-ask.js';
import { follow, following, replication, startNode, written, type RedisSentinelNode } from './redis-sentinel-node.js';
import { RedisSentinelProcess } from './redis-sentinel-process.js';

export type { RedisSentinelNode };

const NODES = 3;
const SENTINELS = 3;
const QUORUM = 2;

/** ms of silence after which sentinels give a node up: longer than any test freezes one, or a machine stands still. */
const CALM = 60_000;
/** While a failover is to come. */
const ALERT = 500;

/** A master, two replicas and three sentinels. */
export class RedisSentinel {
  readonly name = 'locks';

  private constructor(
    readonly nodes: readonly RedisSentinelNode[],
    private readonly watchers: readonly RedisSentinelProcess[],
  ) {}

  static async start(): Promise<RedisSentinel> {
    const nodes = await Promise.all(Array.from({ length: NODES }, startNode));
    const [master, ...replicas] = nodes as [RedisSentinelNode, ...RedisSentinelNode[]];
    await Promise.all(replicas.map((replica) => follow(replica, master)));
    const watchers: RedisSentinelProcess[] = [];
    const set = new RedisSentinel(nodes, watchers);
    try {
      // Sentinels learn of replicas from the master.
      await inStep(NODES - 1, async () => master);
      const configuration = [
        `sentinel monitor ${set.name} 127.0.0.1 ${master.proxy.port} ${QUORUM}`,
        `sentinel down-after-milliseconds ${set.name} ${CALM}`,
        // A vote that nobody has won is held again after twice this.
        `sentinel failover-timeout ${set.name} 3000`,
        `sentinel parallel-syncs ${set.name} ${NODES - 1}`,
      ];
      for (let each = 0; each < SENTINELS; each += 1) watchers.push(await RedisSentinelProcess.start(configuration));
      await Promise.all(watchers.map(hurry));
      await set.#complete(NODES - 1);
    } catch (error) {
      await set.stop();
      throw error;
    }
    return set;
  }

  get sentinels(): { readonly host: string; readonly port: number }[] {
    return this.watchers.map(({ host, port }) => ({ host, port }));
  }

  /** The node that the first sentinel to answer names. */
  async master(): Promise<RedisSentinelNode> {
    let node: RedisSentinelNode | undefined;
    await eventually('a sentinel to name the master', async () => {
      for (const { port } of this.watchers) node ??= await this.#named(port);
      return node !== undefined;
    });
    return node!;
  }

  /** Has the sentinels replace a master that is silent or has become a replica, until one is promoted or the set is healed. */
  async alert(): Promise<void> {
    await this.#giveUpAfter(ALERT);
  }

  /** Ends the master at once. What its replicas have not been sent by then is lost. */
  async killMaster(): Promise<RedisSentinelNode> {
    const master = await this.master();
    await this.alert();
    await master.server.kill();
    // What is held back goes with it.
    await eventually('its replicas to be gone', async () => master.gate.replicas === 0);
    return master;
  }

  /** Has a replica promoted while the master is well. The old master goes on as a master until its sentinels see to it. */
  async failover(): Promise<RedisSentinelNode> {
    const old = await this.master();
    const { port } = this.watchers[0]!;
    let refusal: unknown;
    // Refused for a while after the last one, or while no replica is fit.
    const accepted = (): Promise<boolean> =>
      ask(port, 'SENTINEL', 'FAILOVER', this.name).then(
        () => true,
        (error: unknown) => ((refusal = error), false),
      );
    await eventually('a failover to begin', accepted, () => `: ${String(refusal)}`);
    return this.promoted(old);
  }

  /** Waits until all sentinels name one other node than `old`, and it takes writes. */
  async promoted(old: RedisSentinelNode): Promise<RedisSentinelNode> {
    let node: RedisSentinelNode | undefined;
    const replaced = async (): Promise<boolean> => {
      const named = await Promise.all(this.watchers.map(({ port }) => this.#named(port)));
      [node] = named;
      if (!node || node === old || named.some((each) => each !== node)) return false;
      return (await replication(node)).role === 'master';
    };
    await eventually('a replica to be promoted', replaced, () => this.#logs());
    await this.#giveUpAfter(CALM);
    return node!;
  }

  /** Starts a node again that was killed. It comes back empty, as a replica of the present master. */
  async restart(node: RedisSentinelNode): Promise<void> {
    const master = await this.master();
    await node.server.run();
    if (node !== master) await follow(node, master);
  }

  /** Has all replicas lag by so many ms, those of a future master as well. `Infinity`: nothing gets to them. */
  lag(delay: number): void {
    for (const { gate } of this.nodes) gate.lag(delay);
  }

  /** Waits until so many replicas have all of the data, and the sentinels know these as fit to be promoted. */
  async waitForReplicas(count: number): Promise<void> {
    await inStep(count, () => this.master());
    await this.#complete(count);
  }

  /** Brings back whatever was killed, frozen or held back. */
  async heal(): Promise<void> {
    await this.#giveUpAfter(CALM);
    this.lag(0);
    for (const { server, proxy } of this.nodes) {
      server.resume();
      proxy.heal();
    }
    const master = await this.master();
    for (const node of [master, ...this.nodes.filter((each) => each !== master)]) {
      if (node.server.pid === 0) await this.restart(node);
    }
    await this.waitForReplicas(NODES - 1);
  }

  async stop(): Promise<void> {
    await Promise.all(this.watchers.map((watcher) => watcher.stop()));
    for (const { server, proxy, gate } of this.nodes) {
      server.resume();
      await server.stop();
      await proxy.stop();
      await gate.stop();
    }
  }

  /** Waits until each sentinel knows all others and so many replicas. */
  async #complete(replicas: number): Promise<void> {
    const seen = async ({ port }: RedisSentinelProcess): Promise<boolean> => {
      const [others, nodes] = await Promise.all([
        ask(port, 'SENTINEL', 'SENTINELS', this.name) as Promise<string[][]>,
        ask(port, 'SENTINEL', 'REPLICAS', this.name) as Promise<string[][]>,
      ]);
      const fit = nodes.filter((each) => field(each, 'flags') === 'slave' && field(each, 'role-reported') === 'slave');
      return others.length >= SENTINELS - 1 && fit.length >= replicas;
    };
    const all = async (): Promise<boolean> => (await Promise.all(this.watchers.map(seen))).every(Boolean);
    await eventually('the sentinels to know the whole set', all, () => this.#logs());
  }

  async #giveUpAfter(ms: number): Promise<void> {
    const setting = ['down-after-milliseconds', String(ms)];
    await Promise.all(this.watchers.map(({ port }) => ask(port, 'SENTINEL', 'SET', this.name, ...setting)));
  }

  #logs(): string {
    return this.watchers.map(({ port, log }) => `\nthe sentinel at ${port} says:\n${log}`).join('');
  }

  async #named(port: number): Promise<RedisSentinelNode | undefined> {
    const asked = ask(port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.name);
    const address = (await asked.catch(() => undefined)) as [host: string, port: string] | undefined;
    return this.nodes.find(({ proxy }) => proxy.port === Number(address?.[1]));
  }
}

/**
 * Has a sentinel do several times a second what it does once in seconds: look, tell the others, set right a node that has another role,
 * and connect again where a failover has closed its own connection as well. It takes this for the node's silence.
 */
async function hurry({ port }: RedisSentinelProcess): Promise<void> {
  await eventually('a sentinel to start', async () => (await ask(port, 'PING')) === 'PONG');
  await ask(
    port,
    'SENTINEL',
    'DEBUG',
    'PING-PERIOD',
    '250',
    'INFO-PERIOD',
    '500',
    'PUBLISH-PERIOD',
    '250',
    'ASK-PERIOD',
    '250',
  );
}

/** Waits until so many replicas have all that had been written when this was called, whoever is the master by then. */
async function inStep(count: number, present: () => Promise<RedisSentinelNode>): Promise<void> {
  let master: RedisSentinelNode | undefined;
  let position = 0;
  await eventually(`${count} replicas to have what was written`, async () => {
    const now = await present();
    if (now !== master) position = await written(now);
    master = now;
    return (await following(now, position)) >= count;
  });
}

function field(pairs: readonly string[], name: string): string | undefined {
  return pairs[pairs.indexOf(name) + 1];
}
