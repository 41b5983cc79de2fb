/**
 * One caller at a time on one connection: savepoints nest, so that two calls side by side would undo each other's.
 */
export class Turns {
  readonly #last = new WeakMap<object, Promise<unknown>>();

  take<T>(connection: object, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(connection);
    const turn = before ? before.then(work) : work();
    // Never rejects: how one call ended is nothing to the next.
    const settled: Promise<void> = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(connection, settled);
    return turn;
  }
}
