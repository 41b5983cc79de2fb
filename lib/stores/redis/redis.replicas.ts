import { LockUnavailableError } from '../../errors/index.js';
import type { RedisNode } from './redis.driver.js';

/** How many replicas must have a lock before it counts. */
export interface WaitReplicas {
  readonly count: number;
  /** ms. */
  readonly timeout: number;
}

/** Which connection to which server this is: a server's number for it, and both ends. */
export async function identityOf(node: RedisNode): Promise<string> {
  const text = String(await node.command('CLIENT', 'INFO'));
  return /^id=\d+ addr=\S+ laddr=\S+/.exec(text)?.[0] ?? text;
}

/**
 * Rejects unless so many replicas have what was written on this connection.
 *
 * WAIT asks about the writes of its own connection, and a new one has none: it would be told at once that all is well. So the
 * connection must be the same before the script and after the question.
 *
 * @see https://redis.io/docs/latest/commands/wait/
 * @param before which connection it was when the script was sent
 */
export async function confirmed(
  node: RedisNode,
  before: Promise<string>,
  { count, timeout }: WaitReplicas,
  address: string,
): Promise<void> {
  const [acknowledged, after] = await Promise.all([
    node.command('WAIT', String(count), String(Math.ceil(timeout))),
    identityOf(node),
  ]);
  if (after !== (await before)) {
    throw new LockUnavailableError(`redis at ${address}: the connection was lost before replicas confirmed the lock`);
  }
  if (Number(acknowledged) < count) {
    throw new LockUnavailableError(
      `redis at ${address}: ${Number(acknowledged)} of ${count} replicas confirmed the lock within ${timeout} ms (waitReplicas)`,
    );
  }
}
