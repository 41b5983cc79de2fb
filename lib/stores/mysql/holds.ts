import type { StoreInspection } from '../../contract/index.js';
import { keyHash, readableKey } from '../sql/key-hash.js';
import type { AskSession, SessionClaim } from '../sql/session/session.dialect.js';
import { parameters, statement, type Statement } from '../sql/statement.js';
import { CLOCK, milliseconds, NOW } from './mysql.time.js';
import { marks, text } from './table.sql.js';

const SWEEP_LIMIT = 1_000;
/** ms, once a minute. */
const SWEEP_TIME = 2_000;

/** What was written last for a key, and the session that wrote it. */
export interface WrittenHold {
  readonly connection: number;
  readonly hold: StoreInspection;
}

/**
 * The table in which sessions write what they hold. A row's number is its fencing token: it is drawn once the lock is held, and
 * a counter of InnoDB never goes back, also when what drew from it is rolled back.
 */
export class Holds {
  readonly #name: string;
  readonly #write: Statement;
  readonly #find: Statement;
  readonly #catchUp: string;

  /** @param name as statements call it */
  constructor(name: string) {
    this.#name = name;
    const columns = 'id, lock_key, owner, label, connection, acquired_at';
    this.#write = statement(
      'question',
      `INSERT INTO ${name} (${columns})
      VALUES (@id, ${text('key', 1_000)}, @owner, ${text('label', 255)}, CONNECTION_ID(), ${NOW})`,
    );
    this.#find = statement(
      'question',
      `SELECT fence, owner, label, connection, ${milliseconds('acquired_at', NOW)} AS age
      FROM ${name} WHERE id = @id ORDER BY fence DESC LIMIT 1`,
    );
    this.#catchUp = `INSERT IGNORE INTO ${name} (fence, ${columns}) VALUES (${CLOCK}, '', '', '', '', 0, ${NOW})`;
  }

  /**
   * Lets the counter catch up with the clock, in µs, by a row that the next sweep takes away. Each new session does: a server that
   * crashed may have lost the counter's last steps, and all of its sessions; a table that was made anew goes on above the old one.
   */
  async catchUp(ask: AskSession): Promise<void> {
    await ask(this.#catchUp);
  }

  /** The fencing token of a lock that this session has just won. */
  async write(ask: AskSession, { key, owner, label }: SessionClaim): Promise<bigint> {
    const values = { id: keyHash(key), key: readableKey(key), owner, label };
    const { insertId } = await ask(this.#write.text, parameters(this.#write, values));
    if (!insertId) throw new Error('the server gave no fencing token');
    return insertId;
  }

  /** Removes what {@link catchUp} left. One by one: a statement over several may wait for rows whose holders have not committed. */
  async sweepStarts(ask: AskSession): Promise<void> {
    for (const fence of await this.#old(ask, 'connection = 0')) {
      await ask(`DELETE FROM ${this.#name} WHERE fence = ?`, [fence]);
    }
  }

  /** Removes rows of which `condition` is true and that are older than a minute, where every row is committed at once. */
  async sweep(ask: AskSession, condition: string): Promise<void> {
    for (const end = performance.now() + SWEEP_TIME; performance.now() < end;) {
      const fences = await this.#old(ask, condition);
      if (fences.length > 0) await ask(`DELETE FROM ${this.#name} WHERE fence IN (${marks(fences)})`, fences);
      if (fences.length < SWEEP_LIMIT) return;
    }
  }

  // A look without locks.
  async #old(ask: AskSession, condition: string): Promise<unknown[]> {
    const old = `acquired_at < ${NOW} - INTERVAL 1 MINUTE AND ${condition}`;
    const { rows } = await ask(`SELECT fence FROM ${this.#name} WHERE ${old} LIMIT ${SWEEP_LIMIT}`);
    return rows.map(({ fence }) => fence);
  }

  async find(ask: AskSession, key: string): Promise<WrittenHold | undefined> {
    const { rows } = await ask(this.#find.text, parameters(this.#find, { id: keyHash(key) }));
    const row = rows[0];
    if (!row) return undefined;
    const { owner, label, age, fence, connection } = row;
    const hold = { owner: String(owner), label: String(label), age: Number(age), fence: BigInt(fence as number) };
    return { connection: Number(connection), hold };
  }
}
