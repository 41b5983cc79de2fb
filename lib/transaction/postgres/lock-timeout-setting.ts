import type { TransactionLock } from '../transaction-lock.js';
import { lockTimeout } from './lock-timeout.js';

// ms by which the server's bound may be too long before it is set anew.
const SLACK = 10;

/** The transaction's `lock_timeout` while a call waits under it. */
export class LockTimeoutSetting {
  #former: string | undefined;
  #wait = Infinity;

  constructor(private readonly lock: TransactionLock) {}

  /** ms that the next statement may wait. */
  get wait(): number {
    return this.#wait;
  }

  /** Makes the next statement wait no longer than what is left. */
  async bound(): Promise<void> {
    const left = Math.max(0, this.lock.remaining);
    if (this.#former !== undefined && this.#wait - left <= SLACK) return;
    this.#wait = left;
    const { former } = await this.lock.statements.one(
      // The subquery is evaluated first: OFFSET keeps the planner from merging it.
      `SELECT former, set_config('lock_timeout', '${lockTimeout(left)}', true) AS set
       FROM (SELECT current_setting('lock_timeout') AS former OFFSET 0) AS setting`,
    );
    this.#former ??= String(former);
  }

  async restore(): Promise<void> {
    if (this.#former === undefined) return;
    const value = Buffer.from(this.#former, 'utf8').toString('hex');
    await this.lock.statements.run(
      `SELECT set_config('lock_timeout', convert_from(decode('${value}', 'hex'), 'UTF8'), true) AS set`,
    );
  }
}
