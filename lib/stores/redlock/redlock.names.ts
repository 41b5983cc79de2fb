/** The physical names below one prefix. */
export class RedlockNames {
  readonly #prefix: string;
  /** Without a prefix the names and values are those of the `redlock` package, and nothing else is written. */
  readonly plain: boolean;

  constructor(prefix: string) {
    this.plain = prefix === '';
    this.#prefix = this.plain ? '' : `${prefix}:`;
  }

  lock(key: string): string {
    return this.#prefix + key;
  }

  /** Where a release of the key is published. Clients do not add their `keyPrefix` to channels. */
  channel(key: string): string {
    return `${this.#prefix}released:${key}`;
  }

  /** What a vote is stored as. Everything but the owner is left out where it is not needed. */
  value(owner: string, round: number, label: string): string {
    if (!this.plain && label !== '') return `${owner}:${round}:${label}`;
    return round === 0 ? owner : `${owner}:${round}`;
  }
}
