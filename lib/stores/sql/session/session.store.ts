import type {
  AcquireRequest,
  AcquireResult,
  HolderInfo,
  LockStore,
  StoreGuarantees,
  StoreInspection,
} from '../../../contract/index.js';
import { closedError } from '../../shared/store-state.js';
import type { SqlPool } from '../sql.connection.js';
import { TableSweeper } from '../table/table.sweeper.js';
import { Queueing } from './queueing.js';
import type { SessionDialect } from './session.dialect.js';
import { SessionLocks } from './session.locks.js';
import { SessionPool } from './session.pool.js';
import type { SessionHold } from './session.hold.js';
import type { SessionSettings } from './session.js';

/**
 * Locks that live as long as a session of an SQL server. They need no renewal: when the session ends, for whatever reason, the
 * server has released them, and their holders are told at once.
 *
 * A session that holds something is asked for a sign of life every `keepAlive`, and given up when none comes in as long again:
 * a holder learns after 2 × `keepAlive` at the latest that its connection is dead. The server may have noticed earlier; the fencing token is for that.
 */
export class SessionStore implements LockStore {
  readonly name: string;
  readonly guarantees: StoreGuarantees;
  readonly modes = ['exclusive'] as const;

  readonly #sessions: SessionPool;
  readonly #locks: SessionLocks;
  readonly #sweeper: TableSweeper | undefined;
  readonly #shutdown = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly dialect: SessionDialect,
    private readonly pool: SqlPool,
    private readonly settings: SessionSettings,
  ) {
    this.name = dialect.name;
    this.guarantees = dialect.guarantees;
    this.#sessions = new SessionPool(dialect, pool, settings, (session) => this.#locks.ended(session));
    this.#locks = new SessionLocks(dialect, this.#sessions, settings);
    const sweep = dialect.sweep?.bind(dialect);
    if (sweep) this.#sweeper = new TableSweeper(() => this.#sessions.ask((ask) => sweep(ask)).then(() => false));
  }

  async open(): Promise<void> {
    this.#checkOpen();
    const { connectTimeout, createTable } = this.settings;
    await this.#reported(async () => {
      await this.dialect.check?.(this.pool, connectTimeout);
      await this.#sessions.ask(async (ask) => {
        for (const text of createTable ? this.dialect.schema : []) await ask(text);
        await this.dialect.probe?.(ask);
      });
    });
    this.#sweeper?.occasion();
  }

  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    this.#checkOpen();
    this.#sweeper?.occasion();
    try {
      const hold = this.#locks.held(request.owner) ?? (await this.#locks.tryLock(request));
      if (hold) return { acquired: true, hold };
      if (!request.wait) return { acquired: false, holder: await this.#holder(request.key) };
      // So much is known, and a short wait may hear no more.
      request.onStatus({ kind: 'contended', queued: false });
      return { acquired: true, hold: await this.#wait(request) };
    } catch (error) {
      throw this.dialect.toLockError(error);
    }
  }

  async abandon(_key: string, owner: string): Promise<void> {
    await this.#reported(() => this.#locks.abandon(owner));
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    this.#checkOpen();
    return this.#reported(() => this.#sessions.ask((ask) => this.dialect.inspect(ask, key)));
  }

  async forceRelease(key: string): Promise<boolean> {
    this.#checkOpen();
    return this.#reported(() => this.#sessions.ask((ask) => this.dialect.forceRelease(ask, key)));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const cause = closedError(this.name);
    this.#shutdown.abort(cause);
    await this.#sessions.close(cause);
    await this.pool.close();
  }

  async #wait(request: AcquireRequest): Promise<SessionHold> {
    const signal = AbortSignal.any([request.signal, this.#shutdown.signal]);
    for (;;) {
      signal.throwIfAborted();
      const queueing = new Queueing(this.dialect, this.#sessions, this.settings, request);
      const hold = await this.#locks
        .lock(request, signal, (session) => queueing.watch(session))
        .finally(() => queueing.stop());
      if (hold) return hold;
    }
  }

  async #holder(key: string): Promise<HolderInfo | undefined> {
    const seen = await this.#sessions.ask((ask) => this.dialect.inspect(ask, key));
    return seen && { ...(seen.label === undefined ? {} : { label: seen.label }) };
  }

  async #reported<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.dialect.toLockError(error);
    }
  }

  #checkOpen(): void {
    if (this.#closing) throw closedError(this.name);
  }
}
