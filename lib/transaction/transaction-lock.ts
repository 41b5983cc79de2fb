import { systemClock } from '../contract/index.js';
import { LockContendedError } from '../errors/index.js';
import { keyLiterals, type KeyLiterals } from './key-literals.js';
import type { TransactionSession } from './sql-transaction.js';
import { Statements } from './statements.js';
import type { TransactionLockSettings } from './transaction.options.js';

/** One call: what is to be locked, and how much of its time is left. */
export class TransactionLock {
  readonly statements: Statements;
  readonly literals: KeyLiterals;
  /** See {@link TransactionSession.origin}. */
  readonly origin: object;
  readonly #start = systemClock.now();

  constructor(
    session: TransactionSession,
    readonly key: string,
    readonly settings: TransactionLockSettings,
  ) {
    this.statements = new Statements(session, key, settings.commandTimeout);
    this.literals = keyLiterals(key);
    this.origin = session.origin;
  }

  /** ms since the call. */
  get waited(): number {
    return systemClock.now() - this.#start;
  }

  /** ms that may still be waited; 0 or less when time is up. */
  get remaining(): number {
    return this.settings.wait - this.waited;
  }

  contended(): LockContendedError {
    return new LockContendedError({ key: this.key, waited: this.waited });
  }
}
