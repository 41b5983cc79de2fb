import { randomBytes } from 'node:crypto';
import { systemClock } from '../../contract/index.js';
import { LockOptionsError, LockUnavailableError } from '../../errors/index.js';
import { unavailable } from '../redis/redis.errors.js';
import type { NodeLink } from './node.link.js';
import { PLACE } from './redlock.options.js';
import type { RedlockNames } from './redlock.names.js';
import type { RedlockNode } from './redlock.node.js';
import { runIdOf } from './redlock.replies.js';
import { clearScript, identityScript, lookScript, renewScript, voteScript, withdrawScript } from './scripts/index.js';

const TTL = '5000';

/** The nodes that were seen, by what they say who they are. */
export class Identities {
  readonly #nodes = new Map<string, RedlockNode>();

  /** @throws LockOptionsError when it is the same server as another node: it would vote twice */
  claim(runId: string, node: RedlockNode): void {
    const other = this.#nodes.get(runId);
    if (other !== undefined && other !== node) {
      throw new LockOptionsError(
        `${PLACE}: ${other.address} and ${node.address} are the same server. Every node must be a server of its own.`,
      );
    }
    this.#nodes.set(runId, node);
  }
}

/**
 * Asks a node who it is, and goes once through everything that it will ever be sent, on a key of its own: a missing
 * permission, or a replica that cannot be written to, is found when the application starts.
 */
export async function probe(
  node: RedlockNode,
  identities: Identities,
  names: RedlockNames,
  timeout: number,
): Promise<void> {
  const { link } = node;
  const runId = runIdOf(await link.run({ script: identityScript, keys: [], args: [], timeout }));
  // A proxy may have no such thing.
  if (runId !== undefined) identities.claim(runId, node);
  const key = `probe:${randomBytes(16).toString('hex')}`;
  const channel = names.channel(key);
  await confirmed(node, channel, timeout);
  await tryOut(link, names.lock(key), channel, timeout);
  node.subscriber.unsubscribe(channel).catch(() => undefined);
}

async function tryOut(link: NodeLink, lock: string, channel: string, timeout: number): Promise<void> {
  const keys = [lock];
  const owner = randomBytes(16).toString('hex');
  await link.run({ script: voteScript, keys, args: [owner, '0', owner, TTL], timeout });
  await link.run({ script: renewScript, keys, args: [owner, TTL], timeout });
  await link.run({ script: lookScript, keys, args: [], timeout });
  await link.run({ script: withdrawScript, keys, args: [owner, '0', channel], timeout });
  await link.run({ script: clearScript, keys, args: [channel], timeout });
}

async function confirmed(node: RedlockNode, channel: string, timeout: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = systemClock.after(timeout, () =>
      reject(new LockUnavailableError(`redis at ${node.address} did not confirm a subscription within ${timeout} ms`)),
    );
    node.subscriber
      .subscribe(channel, () => undefined)
      .then(resolve, (error: unknown) => reject(unavailable(node.address, error)))
      .finally(() => timer.cancel());
  });
}
