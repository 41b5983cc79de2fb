import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { IoredisDriver } from '../redis/ioredis.driver.js';
import { NodeRedisDriver } from '../redis/node-redis.driver.js';
import { isIoredis, type RedisClient } from '../redis/redis.client.js';
import { ownClient } from '../redis/redis.own-client.js';
import { poll } from './ballot.js';
import { NodeFailure } from './node.failure.js';
import { RedlockLocks } from './redlock.locks.js';
import { RedlockNames } from './redlock.names.js';
import { RedlockNode } from './redlock.node.js';
import { PLACE, type NodeSource, type RedlockSettings } from './redlock.options.js';
import { Identities, probe } from './redlock.probe.js';
import { noQuorum } from './redlock.verdict.js';
import { WakeUps } from './redlock.wake-ups.js';
import { Turns } from './turns.js';

/** How long nodes are waited for that are late when a majority is there, in ms. */
const PATIENCE = 500;
/** The shortest time after which a connection of our own that says nothing is made anew, in ms: a third of it. */
const SILENCE = 1_000;

/** Everything that is there from a successful open() to close(). */
export class RedlockSession {
  /** Of nodes that take no part yet. */
  warnings: readonly string[] = [];
  readonly locks: RedlockLocks;
  readonly wakeUps: WakeUps;
  readonly turns = new Turns();

  private constructor(
    private readonly nodes: readonly RedlockNode[],
    private readonly settings: RedlockSettings,
    names: RedlockNames,
    private readonly owned: boolean,
  ) {
    this.locks = new RedlockLocks(nodes, settings.nodeTimeout);
    const subscribers = nodes.map(({ subscriber }) => subscriber);
    this.wakeUps = new WakeUps(subscribers, Math.floor(nodes.length / 2) + 1, (key) => names.channel(key));
  }

  /** Connects to a majority and tries everything out; leaves nothing behind when that fails. */
  static async open(settings: RedlockSettings): Promise<RedlockSession> {
    const { sources, prefix, nodeTimeout } = settings;
    const names = new RedlockNames(prefix);
    const identities = new Identities();
    const check = (node: RedlockNode, timeout: number): Promise<void> => probe(node, identities, names, timeout);
    const clients = await clientsOf(sources, settings);
    const nodes = clients.map((client) => new RedlockNode(driverOf(client), { names, nodeTimeout, check }));
    const session = new RedlockSession(
      nodes,
      settings,
      names,
      sources.some((source) => !('client' in source)),
    );
    try {
      await session.#connect();
      return session;
    } catch (error) {
      await session.close(new LockUnavailableError('the redlock store could not be opened', { cause: error }));
      throw error;
    }
  }

  async close(reason: LockUnavailableError): Promise<void> {
    this.wakeUps.close(reason);
    for (const node of this.nodes) node.close(reason);
    if (this.owned) await Promise.all(this.nodes.map((node) => node.disconnect(this.settings.nodeTimeout)));
  }

  async #connect(): Promise<void> {
    const { connectTimeout } = this.settings;
    let impatient = false;
    let lose = (): void => undefined;
    const tooLate = new Promise<'late'>((resolve) => (lose = () => resolve('late')));
    const timer = systemClock.after(connectTimeout, lose);
    const ballot = await poll(this.nodes, {
      ask: async (node) => {
        const started = await Promise.race([node.start(connectTimeout), tooLate]);
        if (started === 'late') throw new NodeFailure(late(node), true);
      },
      decided: (votes) => {
        if (votes.failures.some(({ permanent }) => permanent)) return true;
        if (votes.replies.length < votes.majority) return false;
        if (!impatient) systemClock.after(PATIENCE, lose);
        impatient = true;
        return false;
      },
    });
    timer.cancel();
    const wrong = ballot.failures.find(({ permanent }) => permanent);
    if (wrong) throw wrong.cause;
    if (ballot.replies.length < ballot.majority) throw noQuorum(ballot, this.nodes.length);
    const spare = ballot.replies.length - ballot.majority;
    this.warnings = ballot.failures.map(
      ({ cause }) =>
        `a node takes no part: ${cause.message}. ${ballot.replies.length} of ${this.nodes.length} nodes vote, of which ` +
        `${spare === 0 ? 'none' : spare} may fail. It is looked at again when it is asked for a vote.`,
    );
  }
}

function late({ address }: RedlockNode): LockUnavailableError {
  return new LockUnavailableError(`redis at ${address} was not ready in time`);
}

function clientsOf(
  sources: readonly NodeSource[],
  { connectTimeout, nodeTimeout }: RedlockSettings,
): Promise<RedisClient[]> {
  const commandTimeout = Math.max(nodeTimeout, SILENCE);
  return Promise.all(
    sources.map(async (source) =>
      'client' in source ? source.client : await ownClient({ ...source, connectTimeout, commandTimeout, place: PLACE }),
    ),
  );
}

function driverOf(client: RedisClient): IoredisDriver | NodeRedisDriver {
  return isIoredis(client) ? new IoredisDriver(client) : new NodeRedisDriver(client);
}
