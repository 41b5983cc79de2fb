import type { Lock } from './lock.js';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** What a log shows of a lock: never the client behind it, which knows passwords. */
export abstract class ShownLock {
  toJSON(this: Lock): LockJson {
    const { keys, store, held } = this;
    return { keys, store, held, fencingToken: tokenOf(this) };
  }

  [INSPECT](this: Lock): LockJson {
    return this.toJSON();
  }
}

export interface LockJson {
  readonly keys: readonly string[];
  readonly store: string;
  readonly held: boolean;
  /** As text: JSON has no such numbers. Absent where there is none. */
  readonly fencingToken: string | undefined;
}

function tokenOf(lock: Lock): string | undefined {
  try {
    return String(lock.fencingToken);
  } catch {
    return undefined;
  }
}
