import { systemClock, type Timer } from '../../../contract/index.js';
import type { SqlConnection } from '../sql.connection.js';
import type { AskSession, SessionDialect } from './session.dialect.js';
import type { SessionHold } from './session.hold.js';

export interface SessionSettings {
  /** ms that one statement may take, as far as its caller waits for it. */
  readonly commandTimeout: number;
  /** ms that a connection may take to be there. */
  readonly connectTimeout: number;
  /** ms after which a session that holds something is asked for a sign of life, and in which it must give one. */
  readonly keepAlive: number;
  /** How many sessions holds and waits may take. */
  readonly maxConnections: number;
  readonly createTable: boolean;
}

/** One session of ours: does one thing at a time, knows what it holds, and tells its holds when it has ended. */
export class Session {
  /** By the name that the server has for the key. */
  readonly holds = new Map<string, SessionHold>();
  /** Given away to one wait, or on its way out. */
  reserved = false;
  /** How many tries it was given for that have not ended: no wait may have it before they have. */
  tries = 0;
  /** Whose the server was told that it is. */
  label: string | undefined;
  /** What the server knows it by. */
  id: unknown;
  idleSince = 0;
  onEnded: ((cause: unknown) => void) | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #queued = 0;
  #ended: { readonly cause: unknown } | undefined;
  #timer: Timer | undefined;
  #lastUse = 0;

  constructor(
    private readonly connection: SqlConnection,
    private readonly dialect: SessionDialect,
    private readonly settings: SessionSettings,
  ) {
    connection.onEnded = (cause) => this.#end(cause);
  }

  /** Why it has ended, if it has. */
  get ended(): { readonly cause: unknown } | undefined {
    return this.#ended;
  }

  /** How many things it has to do. */
  get load(): number {
    return this.#queued;
  }

  get isEmpty(): boolean {
    return (
      this.holds.size === 0 && this.#queued === 0 && this.tries === 0 && !this.reserved && this.#ended === undefined
    );
  }

  /**
   * Does `work` when its turn has come.
   *
   * The server may take longer for an answer than its caller waits: a slow answer must not cost the other locks of the
   * session, so that only the keep-alive's bound ends it.
   */
  run<T>(work: (ask: AskSession) => Promise<T>): Promise<T> {
    const start = (): Promise<T> => (this.#ended ? Promise.reject(this.#ended.cause) : work(this.#ask));
    this.#queued += 1;
    // At once where nothing is before it.
    const result = this.#queued === 1 ? start() : this.#tail.then(start);
    const done = (): void => {
      this.#queued -= 1;
      this.#lastUse = performance.now();
    };
    this.#tail = result.then(done, done);
    return result;
  }

  /** Asks for a sign of life now and then, while it holds something. */
  watch(): void {
    if (!this.#timer && this.holds.size > 0) this.#watchFor(this.settings.keepAlive);
  }

  // One timer that looks when the session was last heard of, not one for each thing that it does.
  #watchFor(duration: number): void {
    this.#timer = systemClock.after(duration, () => {
      this.#timer = undefined;
      if (this.holds.size === 0 || this.#ended) return;
      const { keepAlive } = this.settings;
      const quiet = performance.now() - this.#lastUse;
      if (this.#queued > 0 || quiet < keepAlive - 1) {
        this.#watchFor(this.#queued > 0 ? keepAlive : keepAlive - quiet);
        return;
      }
      this.run((ask) => ask(this.dialect.ping)).then(
        () => this.watch(),
        (error: unknown) => this.destroy(error),
      );
    });
  }

  /** Ends it at once. */
  destroy(cause: unknown): void {
    if (this.#ended) return;
    this.connection.destroy();
    this.#end(cause);
  }

  /** Gives it back to the pool as it was. It must hold nothing. */
  async giveBack(): Promise<void> {
    this.reserved = true;
    try {
      await this.run((ask) => this.dialect.restore(ask, this.id));
    } catch (error) {
      this.destroy(error);
    }
    if (this.#ended) return;
    this.#ended = { cause: new Error('the session went back to its pool') };
    this.#timer?.cancel();
    this.connection.onEnded = undefined;
    this.connection.release();
  }

  readonly #ask: AskSession = (text, params = [], timeout = this.#patience) =>
    this.connection.query(text, params, timeout);

  get #patience(): number {
    return Math.max(this.settings.commandTimeout, this.settings.keepAlive);
  }

  #end(cause: unknown): void {
    if (this.#ended) return;
    this.#ended = { cause };
    this.#timer?.cancel();
    this.onEnded?.(cause);
    for (const hold of this.holds.values()) hold.lose(cause);
  }
}
