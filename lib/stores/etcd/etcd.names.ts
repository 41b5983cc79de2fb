import { createHash } from 'node:crypto';
import type { QueueClaim } from '../shared/queue/queue.dialect.js';

/** Keys of etcd from `start` up to, but not including, `end`. */
export interface KeyRange {
  readonly start: Buffer;
  readonly end: Buffer;
}

const LONGEST_READABLE_KEY = 1_000;

/**
 * Names in etcd: `prefix/HASH/LEASE.ERA.NUMBER` is an entry in the queue of the key with that SHA-256, `prefix/sessions/LEASE` what a
 * session writes to have its own late requests refused.
 */
export class EtcdNames {
  #last: { readonly key: string; readonly folder: string } | undefined;

  constructor(private readonly prefix: string) {}

  /** @param era, number tell the entries of one session in the same queue apart */
  entry(key: string, lease: string, era: number, number: number): string {
    return `${this.#folder(key)}${lease}.${era}.${number}`;
  }

  queue(key: string): KeyRange {
    const folder = this.#folder(key);
    // What follows a slash in the order of bytes.
    return { start: Buffer.from(folder), end: Buffer.from(`${folder.slice(0, -1)}0`) };
  }

  session(lease: string): string {
    return `${this.prefix}/sessions/${lease}`;
  }

  #folder(key: string): string {
    // One key is asked for several times in a row.
    if (this.#last?.key !== key) {
      const hash = createHash('sha256').update(key, 'utf8').digest('hex');
      this.#last = { key, folder: `${this.prefix}/${hash}/` };
    }
    return this.#last.folder;
  }
}

/** What an entry's value says, for people: its key, which the name has only as a hash, and who made it. */
export function entryValue({ key, owner, label }: Pick<QueueClaim, 'key' | 'owner' | 'label'>): string {
  return JSON.stringify({ key: key.slice(0, LONGEST_READABLE_KEY), owner, label });
}

/** Who made an entry, as far as its value tells. */
export function makerOf(value: Buffer): { readonly owner?: string | undefined; readonly label?: string | undefined } {
  try {
    const { owner, label } = Object(JSON.parse(value.toString())) as { owner?: unknown; label?: unknown };
    return { owner: text(owner), label: text(label) };
  } catch {
    return {};
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
