/** Something that can stand in one {@link Fifo} at a time. */
export interface Queued<T> {
  before?: T | undefined;
  behind?: T | undefined;
}

/** First in, first out, with removal from the middle in constant time: waiters give up in any order. */
export class Fifo<T extends Queued<T>> {
  #head: T | undefined;
  #tail: T | undefined;
  #length = 0;

  get head(): T | undefined {
    return this.#head;
  }

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    item.before = this.#tail;
    if (this.#tail === undefined) this.#head = item;
    else this.#tail.behind = item;
    this.#tail = item;
    this.#length += 1;
  }

  shift(): T | undefined {
    const head = this.#head;
    if (head !== undefined) this.remove(head);
    return head;
  }

  /** Removes an item that is in the queue. */
  remove(item: T): void {
    if (item.before === undefined) this.#head = item.behind;
    else item.before.behind = item.behind;
    if (item.behind === undefined) this.#tail = item.before;
    else item.behind.before = item.before;
    item.before = item.behind = undefined;
    this.#length -= 1;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let item = this.#head; item !== undefined;) {
      // Taken first, so that the loop's body may remove the item.
      const { behind } = item;
      yield item;
      item = behind;
    }
  }
}
