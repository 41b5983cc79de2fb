import { LockUnavailableError, isLockError } from '../../../errors/index.js';
import type { SqlPool } from '../sql.connection.js';
import type { AskSession, SessionDialect } from './session.dialect.js';
import { Reaper } from './reaper.js';
import { Session, type SessionSettings } from './session.js';

// An empty session stays warm for the next lock, and is back in its pool soon.
const LINGER = 1_000;
const MAX_TRIES = 3;

/** The sessions that holds and waits take, at most `maxConnections` of them. */
export class SessionPool {
  readonly reaper: Reaper;
  readonly #sessions = new Set<Session>();
  /** On their way back to the pool, of which they still take up a connection. */
  readonly #leaving = new Set<Promise<void>>();
  #opening = 0;
  #lingering: NodeJS.Timeout | undefined;

  constructor(
    private readonly dialect: SessionDialect,
    private readonly pool: SqlPool,
    private readonly settings: SessionSettings,
    private readonly onEnded: (session: Session) => void,
  ) {
    this.reaper = new Reaper((id) => this.ask((ask) => dialect.terminate(ask, id)));
  }

  /** A session on which to try for a lock, which does not hold it yet, until {@link tried}. */
  forTry(name: string): Session | Promise<Session> {
    if (!this.dialect.shares) return this.forWait();
    const found = this.#forTry(name);
    if (found === undefined) return this.#openForTry();
    // At once: a wait that came before the try has begun would make it wait as well.
    found.tries += 1;
    return found;
  }

  async #openForTry(): Promise<Session> {
    const session = await this.#open();
    session.tries += 1;
    session.reserved = false;
    return session;
  }

  /** The try is over. */
  tried(session: Session): void {
    if (this.dialect.shares) session.tries -= 1;
    else session.reserved = false;
    this.idle(session);
  }

  #forTry(name: string): Session | undefined {
    const able = [...this.#sessions].filter(({ reserved, ended, holds }) => !reserved && !ended && !holds.has(name));
    const idle = able.filter(({ load }) => load === 0);
    // One that holds something already: an empty one is what a wait needs.
    const best = idle.find(({ holds }) => holds.size > 0) ?? idle[0];
    if (best) return best;
    // Half of the sessions at the most carry locks side by side, so that waits find room.
    const room = this.#size < Math.max(1, Math.floor(this.settings.maxConnections / 2));
    const least = able.sort((a, b) => a.load - b.load)[0];
    return room ? undefined : least;
  }

  /** A session that does nothing else, until {@link free}. */
  async forWait(): Promise<Session> {
    for (const session of this.#sessions) {
      if (!session.isEmpty) continue;
      session.reserved = true;
      return session;
    }
    return this.#open();
  }

  /** What it was reserved for is over. */
  free(session: Session): void {
    session.reserved = false;
    this.idle(session);
  }

  /** It has one thing less to do, or to hold. */
  idle(session: Session): void {
    session.idleSince = performance.now();
    session.watch();
    this.#lingering ??= setTimeout(() => this.#giveBackIdle(), LINGER).unref();
  }

  /** Asks on some session of the pool, which goes back at once. */
  async ask<T>(work: (ask: AskSession) => Promise<T>): Promise<T> {
    const connection = await this.pool.connect(this.settings.connectTimeout);
    try {
      return await work((text, params = [], timeout = this.settings.commandTimeout) =>
        connection.query(text, params, timeout),
      );
    } finally {
      connection.release();
    }
  }

  /** Ends all sessions, and with them what they hold. */
  async close(cause: unknown): Promise<void> {
    clearTimeout(this.#lingering);
    const idle = [...this.#sessions].filter((session) => session.isEmpty);
    for (const session of this.#sessions) if (!idle.includes(session)) session.destroy(cause);
    await Promise.all(idle.map((session) => this.#giveBack(session)));
    await this.reaper.close(this.settings.commandTimeout);
  }

  get #size(): number {
    return this.#sessions.size + this.#opening;
  }

  async #open(): Promise<Session> {
    const { maxConnections } = this.settings;
    while (this.#size >= maxConnections) {
      const [leaving] = this.#leaving;
      if (leaving) {
        await leaving;
        continue;
      }
      throw new LockUnavailableError(
        `the ${this.dialect.name} store has all of its ${maxConnections} sessions in use (maxConnections): ` +
          'each lock that is held and each wait takes one',
      );
    }
    this.#opening += 1;
    try {
      for (let tries = 1; ; tries += 1) {
        try {
          return await this.#prepared();
        } catch (error) {
          // What lay idle in the pool may have died there: the next one is a new one.
          if (tries >= MAX_TRIES || isLockError(error)) throw error;
        }
      }
    } finally {
      this.#opening -= 1;
    }
  }

  async #prepared(): Promise<Session> {
    const connection = await this.pool.connect(this.settings.connectTimeout);
    const { commandTimeout } = this.settings;
    const session = new Session(connection, this.dialect, this.settings);
    session.reserved = true;
    try {
      session.id = await this.dialect.prepare((text, params = [], timeout = commandTimeout) =>
        connection.query(text, params, timeout),
      );
    } catch (error) {
      session.destroy(error);
      throw error;
    }
    if (session.ended) throw session.ended.cause;
    this.#sessions.add(session);
    session.onEnded = () => this.#ended(session);
    return session;
  }

  #ended(session: Session): void {
    this.#sessions.delete(session);
    // Whether the server knows of its end already is not sure: only then are its locks free.
    this.reaper.add(session.id);
    this.onEnded(session);
  }

  #giveBackIdle(): void {
    this.#lingering = undefined;
    const now = performance.now();
    let left = 0;
    for (const session of this.#sessions) {
      if (!session.isEmpty) continue;
      if (now - session.idleSince < LINGER - 1) left += 1;
      else void this.#giveBack(session);
    }
    if (left > 0) this.#lingering = setTimeout(() => this.#giveBackIdle(), LINGER / 2).unref();
  }

  #giveBack(session: Session): Promise<void> {
    const leaving = session.giveBack().then(() => {
      this.#sessions.delete(session);
      this.#leaving.delete(leaving);
    });
    this.#leaving.add(leaving);
    return leaving;
  }
}
