import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreInspection } from '../../contract/index.js';
import { keyHash, readableKey } from '../sql/key-hash.js';
import type { AskSession, SessionClaim } from '../sql/session/session.dialect.js';
import type { WrittenHold } from './holds.js';
import { errorNumber } from './mysql.errors.js';
import { enterSession, kill, type ServerSession } from './server-session.js';
import { SessionModes } from './session-modes.js';
import { NOW } from './mysql.time.js';

/** How MySQL and MariaDB, in this order, say that NOWAIT would have to wait. */
const BUSY = new Set([3572, 1205]);
// Whole seconds, and more than anybody waits.
const FOR_EVER = 1_073_741_824;
// MariaDB knows not to wait at all; MySQL waits for a second, and only where two first locks of a key cross at an odd moment.
const SHORT = `IF(VERSION() LIKE '%MariaDB%', 0, 1)`;
const SWEEP_LIMIT = 50;
/** ms, once a minute. */
const SWEEP_TIME = 2_000;
// Whatever completion_type says, which would have a session begin the next transaction at once, or end.
const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE';
const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE';
// A row that is locked although nobody holds it is being made or swept, or its holder has not said so yet.
const TRIES = 12;
const PAUSE = 5;

/**
 * `SELECT … FOR UPDATE` in a transaction that lasts as long as the lock. Nothing of it is ever committed: what the holder writes of itself is
 * read by others as it is (READ UNCOMMITTED), and goes with the transaction, however that ends.
 */
export class RowDialect extends SessionModes {
  readonly shares = false;
  readonly mode = 'row';

  async tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const outcome = await this.#select(ask, claim.key, ' NOWAIT');
      if (outcome === 'locked') return this.holds.write(ask, claim);
      await ask(ROLLBACK);
      if (outcome === 'missing') await this.#create(ask, claim.key);
      else if (await this.#isHeld(ask, claim.key)) return undefined;
      else await sleep(PAUSE);
    }
    return undefined;
  }

  async lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    await ask(`SET SESSION innodb_lock_wait_timeout = ${FOR_EVER}`);
    const outcome = await this.#select(ask, claim.key, '', Infinity);
    await ask(`SET SESSION innodb_lock_wait_timeout = ${SHORT}`);
    if (outcome === 'locked') return this.holds.write(ask, claim);
    await ask(ROLLBACK);
    if (outcome === 'missing') await this.#create(ask, claim.key);
    return undefined;
  }

  async unlock(ask: AskSession): Promise<boolean> {
    await ask(ROLLBACK);
    return true;
  }

  async inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined> {
    return (await this.#find(ask, key))?.hold;
  }

  async forceRelease(ask: AskSession, key: string): Promise<boolean> {
    const found = await this.#find(ask, key);
    if (!found) return false;
    await kill(ask, found.connection);
    return true;
  }

  /** Removes the rows of keys that nobody has or wants. */
  async sweep(ask: AskSession): Promise<void> {
    await this.holds.sweepStarts(ask);
    const old = `SELECT id FROM ${this.tables.row} WHERE created_at < ${NOW} - INTERVAL 1 MINUTE LIMIT ${SWEEP_LIMIT}`;
    for (const end = performance.now() + SWEEP_TIME; performance.now() < end;) {
      const { rows } = await ask(old);
      const removed = await this.#remove(
        ask,
        rows.map(({ id }) => id),
      );
      if (rows.length < SWEEP_LIMIT || removed === 0) return;
    }
  }

  // One by one: a statement over several would read the whole of a small table, and wait for rows that others have locked.
  async #remove(ask: AskSession, ids: readonly unknown[]): Promise<number> {
    let removed = 0;
    await ask('START TRANSACTION');
    try {
      for (const id of ids) {
        const { rows } = await ask(`SELECT 1 AS found FROM ${this.tables.row} WHERE id = ? FOR UPDATE SKIP LOCKED`, [
          id,
        ]);
        if (rows.length === 0) continue;
        await ask(`DELETE FROM ${this.tables.row} WHERE id = ?`, [id]);
        removed += 1;
      }
      await ask(COMMIT);
    } catch (error) {
      await ask(ROLLBACK);
      throw error;
    }
    return removed;
  }

  protected enter(ask: AskSession): Promise<ServerSession> {
    const settings = { autocommit: 0, innodb_lock_wait_timeout: SHORT, wait_timeout: this.silence };
    return enterSession(ask, settings);
  }

  async #isHeld(ask: AskSession, key: string): Promise<boolean> {
    const found = await this.#find(ask, key);
    await ask(ROLLBACK);
    return found !== undefined;
  }

  async #select(
    ask: AskSession,
    key: string,
    option: string,
    timeout?: number,
  ): Promise<'locked' | 'missing' | 'busy'> {
    try {
      const text = `SELECT 1 AS found FROM ${this.tables.row} WHERE id = ? FOR UPDATE${option}`;
      return (await ask(text, [keyHash(key)], timeout)).rows.length > 0 ? 'locked' : 'missing';
    } catch (error) {
      if (BUSY.has(errorNumber(error))) return 'busy';
      throw error;
    }
  }

  /** Makes the row of a key and commits it. An insert that meets a row waits for whoever has it locked: a look comes first. */
  async #create(ask: AskSession, key: string): Promise<void> {
    const id = keyHash(key);
    try {
      await ask(
        `INSERT IGNORE INTO ${this.tables.row} (id, lock_key, created_at) SELECT ?, CONVERT(? USING utf8mb4), ${NOW} FROM DUAL ` +
          `WHERE NOT EXISTS (SELECT 1 FROM ${this.tables.row} AS present WHERE present.id = ?)`,
        [id, readableKey(key), id],
      );
      await ask(COMMIT);
    } catch (error) {
      // Somebody else is making it, or has it already.
      if (!BUSY.has(errorNumber(error))) throw error;
      await ask(ROLLBACK);
    }
  }

  async #find(ask: AskSession, key: string): Promise<WrittenHold | undefined> {
    // Of the next transaction only. With autocommit that is the next statement; our own sessions begin a new one by it.
    await ask('SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
    const found = await this.holds.find(ask, key);
    return found && found.connection !== 0 ? found : undefined;
  }
}
