/** Something that is due at a time, in one {@link DueQueue} at the most. */
export interface Due {
  dueAt: number;
  /** Its place in the queue; -1 when it is in none. */
  slot: number;
}

/** A binary heap by due time whose members know their place, so that removing one costs no search. */
export class DueQueue<T extends Due> {
  readonly #items: T[] = [];

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    item.slot = this.#items.push(item) - 1;
    this.#up(item);
  }

  remove(item: T): void {
    const { slot } = item;
    if (slot < 0) return;
    item.slot = -1;
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#place(last, slot);
    this.#up(last);
    this.#down(last);
  }

  #place(item: T, slot: number): void {
    this.#items[slot] = item;
    item.slot = slot;
  }

  #up(item: T): void {
    while (item.slot > 0) {
      const parent = this.#items[(item.slot - 1) >> 1] as T;
      if (parent.dueAt <= item.dueAt) return;
      this.#swap(item, parent);
    }
  }

  #down(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.slot + 1];
      const right = this.#items[2 * item.slot + 2];
      const child = right !== undefined && left !== undefined && right.dueAt < left.dueAt ? right : left;
      if (child === undefined || item.dueAt <= child.dueAt) return;
      this.#swap(item, child);
    }
  }

  #swap(a: T, b: T): void {
    const slot = a.slot;
    this.#place(a, b.slot);
    this.#place(b, slot);
  }
}
