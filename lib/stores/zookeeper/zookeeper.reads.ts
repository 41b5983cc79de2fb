import { codeOf, ZK } from './zookeeper.errors.js';
import type { Link } from './zookeeper.link.js';
import { queueOf, type EntryName } from './zookeeper.names.js';

/** What a request gives, or `undefined` when its node is not there. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (codeOf(error) === ZK.noNode) return undefined;
    throw error;
  }
}

/** The queue below a key's node, as the server that is asked knows it. It may lag behind, never behind what this client has seen. */
export async function queueAt({ calls }: Link, parent: string): Promise<EntryName[]> {
  return queueOf((await unlessGone(calls.children(parent))) ?? []);
}

/**
 * The queue as it is now: behind a write of one's own, also when the connection is a new one, to a server that has not heard of what the last one was sent.
 */
export async function freshQueueAt(link: Link, parent: string): Promise<EntryName[]> {
  const [, queue] = await Promise.all([link.calls.barrier(), queueAt(link, parent)]);
  return queue;
}

/** @returns whether it was there */
export async function removeAt({ calls }: Link, path: string): Promise<boolean> {
  return (await unlessGone(calls.remove(path).then(() => true))) ?? false;
}
