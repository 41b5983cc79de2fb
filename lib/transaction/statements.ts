import { systemClock } from '../contract/index.js';
import { LockOptionsError, LockUnavailableError } from '../errors/index.js';
import { PLACE } from './sources/index.js';
import type { Row, TransactionSession } from './sql-transaction.js';

/** The statements of one call: each bounded in time, since the server may never answer. */
export class Statements {
  #silent = false;

  constructor(
    private readonly session: TransactionSession,
    private readonly key: string,
    /** ms */
    private readonly commandTimeout: number,
  ) {}

  /** Whether a statement is still on its way: whatever is sent now would queue behind it. */
  get silent(): boolean {
    return this.#silent;
  }

  /** @param wait how long the statement itself may wait for others, in ms */
  run(text: string, wait = 0): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      // An endless wait cannot be bounded: that is what was asked for.
      const timer = systemClock.after(wait + this.commandTimeout, () => {
        this.#silent = true;
        reject(this.#noAnswer(wait));
      });
      this.session
        .query(text)
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  /** The only row of a query. */
  async one(text: string, wait?: number): Promise<Row> {
    const [row] = await this.run(text, wait);
    if (row === undefined) {
      throw new LockOptionsError(
        `${PLACE}: the query of tx gave no rows for a SELECT. It must give those of the server.`,
      );
    }
    // Given as arrays they pass for [rows, fields], so that a value comes out.
    if (typeof row !== 'object' || Array.isArray(row)) {
      throw new LockOptionsError(`${PLACE}: the query of tx gave a row as an array. It must give rows as objects.`);
    }
    return row;
  }

  #noAnswer(wait: number): LockUnavailableError {
    return new LockUnavailableError(
      `"${this.key}": the database did not answer within ${Math.round(wait + this.commandTimeout)} ms. ` +
        'Whether the transaction goes on is unknown: roll it back, or let its connection go.',
      { key: this.key },
    );
  }
}
