import type { StoreInspection } from '../../contract/index.js';
import { keyHash } from '../sql/key-hash.js';
import type { AskSession, SessionClaim } from '../sql/session/session.dialect.js';
import { enterSession, kill, type ServerSession } from './server-session.js';
import { SessionModes } from './session-modes.js';

// GET_LOCK() has no "for ever" that both servers know.
const A_YEAR = 31_536_000;

/**
 * `GET_LOCK()`: a session may hold any number of names. Names belong to the whole server and are compared without case, 64 characters at
 * the most: what stands for a key is a hash of the database's name, the table's and the key's own hash.
 */
export class NamedDialect extends SessionModes {
  readonly shares = true;
  readonly mode = 'named';

  async tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    return this.#lock(ask, claim, 0);
  }

  async lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    return this.#lock(ask, claim, A_YEAR);
  }

  async unlock(ask: AskSession, { key }: SessionClaim): Promise<boolean> {
    // What was written of it stays until it is swept: nobody reads it while the name is free.
    return (await this.#ask(ask, `RELEASE_LOCK(${this.#nameOf('?')})`, key)) === 1;
  }

  async inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined> {
    const connection = await this.#ask(ask, `IS_USED_LOCK(${this.#nameOf('?')})`, key);
    if (connection === undefined) return undefined;
    const found = await this.holds.find(ask, key);
    // A session that has just won, and has not written it yet.
    return found?.connection === connection ? found.hold : { owner: `session ${connection}` };
  }

  async forceRelease(ask: AskSession, key: string): Promise<boolean> {
    const connection = await this.#ask(ask, `IS_USED_LOCK(${this.#nameOf('?')})`, key);
    if (connection === undefined) return false;
    await kill(ask, connection);
    return true;
  }

  async sweep(ask: AskSession): Promise<void> {
    // What nobody reads any more.
    await this.holds.sweep(ask, `COALESCE(IS_USED_LOCK(${this.#nameOf('id')}), -1) <> connection`);
  }

  protected enter(ask: AskSession): Promise<ServerSession> {
    return enterSession(ask, { autocommit: 1, wait_timeout: this.silence });
  }

  #nameOf(id: string): string {
    return `SHA2(CONCAT(${this.tables.namespace}, HEX(${id})), 256)`;
  }

  async #lock(ask: AskSession, claim: SessionClaim, seconds: number): Promise<bigint | undefined> {
    const timeout = seconds > 0 ? Infinity : undefined;
    const got = await this.#ask(ask, `GET_LOCK(${this.#nameOf('?')}, ${seconds})`, claim.key, timeout);
    if (got === 1) return this.holds.write(ask, claim);
    if (got === 0) return undefined;
    throw new Error('GET_LOCK() failed, as the server says without a reason');
  }

  async #ask(ask: AskSession, expression: string, key: string, timeout?: number): Promise<number | undefined> {
    const { rows } = await ask(`SELECT ${expression} AS answer`, [keyHash(key)], timeout);
    const answer = rows[0]?.['answer'];
    return answer === null || answer === undefined ? undefined : Number(answer);
  }
}
