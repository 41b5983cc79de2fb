import { systemClock, type AcquireRequest, type Timer } from '../../../contract/index.js';
import type { SessionDialect } from './session.dialect.js';
import type { SessionPool } from './session.pool.js';
import type { Session, SessionSettings } from './session.js';

const FIRST_LOOK = 1;
// So long a request may take to reach the server's queue before its session counts as dead.
const PATIENCE = 5_000;

/**
 * Looks, from another session, at one that waits in the server's queue and cannot be asked itself: tells who holds the key,
 * and ends the wait when the server does not know of it any more.
 */
export class Queueing {
  #timer: Timer | undefined;
  #stopped = false;
  #missingSince: number | undefined;

  constructor(
    private readonly dialect: SessionDialect,
    private readonly sessions: SessionPool,
    private readonly settings: SessionSettings,
    private readonly request: AcquireRequest,
  ) {}

  watch(session: Session): void {
    void this.#look(session, FIRST_LOOK);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #look(session: Session, pause: number): Promise<void> {
    let next = this.settings.keepAlive;
    try {
      const queued = await this.sessions.ask((ask) => this.dialect.isQueued(ask, session.id));
      if (this.#stopped) return;
      if (queued) {
        this.#missingSince = undefined;
        await this.#report();
      } else {
        next = Math.min(2 * pause, next);
        this.#missingSince ??= performance.now();
        if (performance.now() - this.#missingSince > PATIENCE) {
          session.destroy(new Error('the server does not know of the wait any more'));
        }
      }
    } catch (cause) {
      if (!this.#stopped) this.request.onStatus({ kind: 'unreachable', cause: this.dialect.toLockError(cause) });
    }
    if (!this.#stopped) this.#timer = systemClock.after(next, () => void this.#look(session, next));
  }

  async #report(): Promise<void> {
    const seen = await this.sessions.ask((ask) => this.dialect.inspect(ask, this.request.key));
    if (this.#stopped) return;
    const holder = seen && (seen.label === undefined ? {} : { label: seen.label });
    this.request.onStatus({ kind: 'contended', holder });
  }
}
