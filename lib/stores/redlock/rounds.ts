// Far more than are ever under way; what is forgotten costs no more than a lease that has to run out.
const MOST = 10_000;

/**
 * Which round the next votes of an owner belong to.
 *
 * A withdrawal without an answer may still arrive, at any time. The votes of a later round are safe from it, because
 * they say which round they are of.
 */
export class Rounds {
  readonly #rounds = new Map<string, number>();

  of(owner: string): number {
    return this.#rounds.get(owner) ?? 0;
  }

  /** Nobody knows what became of a withdrawal: votes that are asked for from now on are of a new round. */
  next(owner: string): void {
    const round = this.of(owner) + 1;
    this.#rounds.delete(owner);
    this.#rounds.set(owner, round);
    if (this.#rounds.size <= MOST) return;
    for (const [oldest] of this.#rounds) {
      this.#rounds.delete(oldest);
      break;
    }
  }

  /** The owner will not ask again. */
  forget(owner: string): void {
    this.#rounds.delete(owner);
  }

  get size(): number {
    return this.#rounds.size;
  }
}
