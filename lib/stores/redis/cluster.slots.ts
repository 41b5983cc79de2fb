import keySlot from 'cluster-key-slot';

/** The slot of a cluster in which a key stands. */
export const slotOf: (key: string) => number = keySlot;

/**
 * A counter for each slot of a cluster. All keys of a script must stand in one slot, and which slot a name falls into cannot
 * be chosen: names are tried until one falls into the slot that is wanted, and each is kept for the slot that it fell into.
 */
export class FenceCounters {
  readonly #names = new Map<number, string>();
  #tried = 0;

  constructor(private readonly prefix: string) {}

  forSlot(slot: number): string {
    let name = this.#names.get(slot);
    while (name === undefined) {
      this.#try(`{${this.prefix}#${this.#tried}}:fence`);
      name = this.#names.get(slot);
    }
    return name;
  }

  // The first name counts: every process must find the same.
  #try(name: string): void {
    this.#tried += 1;
    const slot = slotOf(name);
    if (!this.#names.has(slot)) this.#names.set(slot, name);
  }
}
