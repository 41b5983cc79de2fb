/**
 * The physical names below one prefix.
 *
 * A lock and its queue share a hash tag, so that they stand in one slot of a cluster. A lock ends in `}`, a queue in
 * `}:queue`, and the counter's tag has no colon after the prefix: no key can be made to look like another's.
 */
export class RedisKeys {
  readonly #prefix: string;
  /** What the name of a process's own channel begins with. Clients do not add their `keyPrefix` to channels. */
  readonly wake: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.wake = `${prefix}:wake:`;
  }

  lock(key: string): string {
    return `{${this.#prefix}:${key}}`;
  }

  queue(key: string): string {
    return `{${this.#prefix}:${key}}:queue`;
  }

  /** The counter of fencing tokens: one for all keys, so that their number does not grow with the keys. */
  fence(_key: string): string {
    return `{${this.#prefix}}:fence`;
  }
}
