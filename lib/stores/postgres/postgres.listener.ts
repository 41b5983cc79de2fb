import { randomBytes } from 'node:crypto';
import { systemClock, type Timer } from '../../contract/index.js';
import type { TablePush } from '../sql/table/table.waiters.js';
import type { PgConnection } from './postgres.connection.js';
import type { PostgresSettings } from './postgres.options.js';
import type { PgSessions } from './postgres.pool.js';

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;
// Behind transaction pooling nothing is heard, however often one tries.
const DEAF_PAUSE = 60_000;
// Waits that follow one another, as those of a worker in a loop, keep it. Whoever ends the pool has to wait for so long.
const LINGER = 2_000;

/**
 * Hears the releases that are announced on a channel, over one connection, which is made anew when it ends. It lasts from a
 * wait until nobody has waited for a while: a pool that its owner ends waits for all that is out. While it hears nothing,
 * waiters look often.
 *
 * That somebody waits is known from being asked whether it is {@link live}: every look of a waiter does.
 */
export class PgListener implements TablePush {
  #ring: ((owner: string) => void) | undefined;
  #connection: PgConnection | undefined;
  #live = false;
  #closed = false;
  /** Whether neither a connection nor a try for one is wanted. */
  #resting = true;
  #askedAt = -Infinity;
  #timer: Timer | undefined;
  #failures = 0;

  constructor(
    private readonly sessions: PgSessions,
    private readonly settings: PostgresSettings,
  ) {}

  get live(): boolean {
    this.#wake();
    return this.#live;
  }

  start(ring: (owner: string) => void): void {
    this.#ring ??= ring;
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
  }

  #wake(): void {
    this.#askedAt = performance.now();
    if (!this.#resting || this.#closed) return;
    this.#resting = false;
    void this.#listen();
  }

  /** ms for which it is still wanted. Those who wait may look, and thereby ask, as rarely as every `pollInterval`. */
  get #wanted(): number {
    return this.#askedAt + LINGER + this.settings.pollInterval - performance.now();
  }

  async #listen(): Promise<void> {
    const { connectTimeout, commandTimeout, channel } = this.settings;
    try {
      const connection = await this.sessions.connect(connectTimeout);
      if (this.#closed) {
        connection.release();
        return;
      }
      this.#connection = connection;
      connection.onEnded = () => this.#again(FIRST_PAUSE);
      const heard = this.#hearItself(connection);
      connection.hearNotifications();
      await connection.query(`LISTEN "${channel}"`, [], commandTimeout);
      const announced = await heard.announced();
      // It has ended meanwhile, and there is another or will be.
      if (this.#connection !== connection) return;
      if (!announced) {
        this.#again(DEAF_PAUSE);
        return;
      }
      this.#failures = 0;
      this.#live = true;
      this.#keepAlive(connection);
    } catch {
      this.#failures += 1;
      this.#again(Math.min(FIRST_PAUSE * 2 ** this.#failures, LONGEST_PAUSE));
    }
  }

  /** Whether an announcement from another session arrives. Through a pooler of transactions it does not. */
  #hearItself(connection: PgConnection): { announced(): Promise<boolean> } {
    const word = randomBytes(16).toString('hex');
    let hear: (heard: boolean) => void = () => undefined;
    const heard = new Promise<boolean>((resolve) => (hear = resolve));
    connection.onNotification = (payload) => {
      if (payload === word) hear(true);
      else this.#ring?.(payload);
    };
    const announced = async (): Promise<boolean> => {
      const { connectTimeout, commandTimeout, channel } = this.settings;
      const other = await this.sessions.connect(connectTimeout);
      try {
        await other.query('SELECT pg_notify($1, $2)', [channel, word], commandTimeout);
      } finally {
        other.release();
      }
      const timer = systemClock.after(commandTimeout, () => hear(false));
      return heard.finally(() => timer.cancel());
    };
    return { announced };
  }

  /** A connection over which nothing comes any more looks just like a quiet one. */
  #keepAlive(connection: PgConnection): void {
    const { keepAlive } = this.settings;
    const wanted = this.#wanted;
    if (wanted <= 0) {
      this.#giveBack(connection);
      return;
    }
    this.#timer = systemClock.after(Math.min(keepAlive, wanted), () => {
      connection.query('SELECT 1', [], keepAlive).then(
        () => {
          if (this.#connection === connection) this.#keepAlive(connection);
        },
        () => {
          if (this.#connection === connection) this.#again(FIRST_PAUSE);
        },
      );
    });
  }

  #giveBack(connection: PgConnection): void {
    this.#live = false;
    this.#resting = true;
    this.#connection = undefined;
    connection.onEnded = undefined;
    const { channel, commandTimeout } = this.settings;
    // Whoever gets it next expects to hear nothing.
    connection.query(`UNLISTEN "${channel}"`, [], commandTimeout).then(
      () => connection.release(),
      () => connection.destroy(),
    );
  }

  #again(pause: number): void {
    this.#stop();
    if (this.#closed) return;
    this.#timer = systemClock.after(pause, () => {
      this.#resting = this.#wanted <= 0;
      if (!this.#resting) void this.#listen();
    });
  }

  #stop(): void {
    this.#live = false;
    this.#timer?.cancel();
    const connection = this.#connection;
    this.#connection = undefined;
    if (!connection) return;
    connection.onEnded = undefined;
    // It listens, which nobody who gets it next expects.
    connection.destroy();
  }
}
