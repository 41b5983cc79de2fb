import { FenceCounters, slotOf } from './cluster.slots.js';

/**
 * The physical names below one prefix.
 *
 * A lock and its queue share a hash tag, so that they stand in one slot of a cluster. A lock ends in `}`, a queue in
 * `}:queue`, and a counter's tag has no colon after the prefix: no key can be made to look like another's.
 */
export class RedisKeys {
  readonly #prefix: string;
  readonly #counters: FenceCounters | undefined;
  /** What the name of a process's own channel begins with. Clients do not add their `keyPrefix` to channels. */
  readonly wake: string;

  constructor(prefix: string, { clustered }: { readonly clustered: boolean }) {
    this.#prefix = prefix;
    this.#counters = clustered ? new FenceCounters(prefix) : undefined;
    this.wake = `${prefix}:wake:`;
  }

  lock(key: string): string {
    return `{${this.#prefix}:${key}}`;
  }

  queue(key: string): string {
    return `{${this.#prefix}:${key}}:queue`;
  }

  /**
   * The counter of fencing tokens: one for all keys, or in a cluster for all keys of a slot, so that their number does not
   * grow with the keys.
   */
  fence(key: string): string {
    return this.#counters?.forSlot(slotOf(this.lock(key))) ?? `{${this.#prefix}}:fence`;
  }

  /** Keys of one group may go into one script. */
  group(key: string): number {
    return this.#counters ? slotOf(this.lock(key)) : 0;
  }
}
