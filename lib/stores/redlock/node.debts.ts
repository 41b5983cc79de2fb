import { systemClock, type Timer } from '../../contract/index.js';

/** A vote that may stand on a node, and has to be withdrawn there. */
export interface Debt {
  readonly key: string;
  readonly owner: string;
  readonly round: number;
}

// Those beyond are left to their leases.
const MOST = 10_000;
const AT_ONCE = 100;
const RETRY = 1_000;

/** What one node has still to be told: votes that were asked of it, or given by it, and that it could not be told to forget. */
export class NodeDebts {
  readonly #debts = new Map<string, Debt>();
  #paying = false;
  #retry: Timer | undefined;
  #closed = false;

  constructor(
    private readonly pay: (debt: Debt) => Promise<unknown>,
    /** Nothing is owed any more. */
    private readonly onPaid: () => void,
  ) {}

  get size(): number {
    return this.#debts.size;
  }

  add(debt: Debt): void {
    if (this.#closed) return;
    this.#debts.delete(debt.owner);
    this.#debts.set(debt.owner, debt);
    if (this.#debts.size > MOST) {
      for (const [oldest] of this.#debts) {
        this.#debts.delete(oldest);
        break;
      }
    }
    this.#retryLater();
  }

  /** Pays what is owed: the node can be reached. */
  async settle(): Promise<void> {
    if (this.#paying || this.#closed) return;
    this.#paying = true;
    try {
      while (this.#debts.size > 0) await this.#paySome();
      this.#rest();
      this.onPaid();
    } catch {
      this.#retryLater();
    } finally {
      this.#paying = false;
    }
  }

  close(): void {
    this.#closed = true;
    this.#rest();
    this.#debts.clear();
  }

  async #paySome(): Promise<void> {
    const some = [...this.#debts.values()].slice(0, AT_ONCE);
    await Promise.all(
      some.map(async (debt) => {
        await this.pay(debt);
        // Unless it has been incurred again meanwhile.
        if (this.#debts.get(debt.owner) === debt) this.#debts.delete(debt.owner);
      }),
    );
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#retry ??= systemClock.after(RETRY, () => {
      this.#retry = undefined;
      void this.settle();
    });
  }

  #rest(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }
}
