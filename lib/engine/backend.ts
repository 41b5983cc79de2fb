import { LockOptionsError } from '../errors/index.js';
import type { LockStore } from '../contract/index.js';
import { awaited } from './awaited.js';

/** One store under its name in the module, opened once, and again after an opening that failed. */
export class Backend {
  #opening: Promise<void> | undefined;
  #open = false;

  constructor(
    readonly name: string,
    readonly store: LockStore,
    private readonly onWarning?: (warning: string) => void,
  ) {
    if (!store.modes.includes('exclusive')) {
      throw new LockOptionsError(`The store "${name}" (${store.name}) has no exclusive mode.`);
    }
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Says that the store failed, and why. */
  failure(cause: unknown): string {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return `the store "${this.name}" (${this.store.name}) failed: ${reason}`;
  }

  open(): Promise<void> {
    this.#opening ??= awaited(this.store.open()).then(
      () => {
        this.#open = true;
        for (const warning of this.store.warnings ?? []) this.onWarning?.(warning);
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }
}
