import type { EtcdKeyValue, EtcdTxnReply } from './etcd.client.js';
import type { KeyRange } from './etcd.names.js';

// The parts of etcd's transactions that are used here. Numbers of 64 bits are texts, in both directions.

/** The key has this create revision; `'0'`: there is no such key. */
export function created(key: string, revision: string): object {
  return { key: Buffer.from(key), target: 'Create', result: 'Equal', create_revision: revision };
}

/** The key was changed last in this revision; `'0'`: there is no such key. */
export function modified(key: string, revision: string): object {
  return { key: Buffer.from(key), target: 'Mod', result: 'Equal', mod_revision: revision };
}

/** There is no key in the range: a comparison that is asked of all of them, or else of one that was never created. */
export function empty({ start, end }: KeyRange): object {
  return { key: start, range_end: end, target: 'Create', result: 'Equal', create_revision: '0' };
}

export function put(key: string, value: string, lease: string): object {
  return { request_put: { key: Buffer.from(key), value: Buffer.from(value), lease } };
}

export function remove(key: string): object {
  return { request_delete_range: { key: Buffer.from(key) } };
}

export function get(key: string): object {
  return { request_range: { key: Buffer.from(key) } };
}

/** The entry that was made first. */
export function first({ start, end }: KeyRange): object {
  return { request_range: { key: start, range_end: end, sort_target: 'Create', sort_order: 'Ascend', limit: 1 } };
}

/** The entry that was made last before `revision`. */
export function lastBefore({ start, end }: KeyRange, revision: bigint): object {
  return {
    request_range: {
      key: start,
      range_end: end,
      max_create_revision: String(revision - 1n),
      sort_target: 'Create',
      sort_order: 'Descend',
      limit: 1,
    },
  };
}

/** What the range or the get with that number among a transaction's operations has found first. */
export function found(reply: EtcdTxnReply, index: number): EtcdKeyValue | undefined {
  return reply.responses[index]?.response_range?.kvs[0];
}

/** How many keys there are, whatever the limit of the range was. */
export function counted(reply: EtcdTxnReply, index: number): number {
  return Number(reply.responses[index]?.response_range?.count ?? 0);
}
