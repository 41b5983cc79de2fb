import { isLockError } from '../../../errors/index.js';
import type { AskSession, SessionClaim, SessionDialect } from './session.dialect.js';
import { SessionHold } from './session.hold.js';
import type { SessionPool } from './session.pool.js';
import type { Session, SessionSettings } from './session.js';
import { within } from './within.js';

interface Unsettled {
  readonly owner: string;
  readonly work: Promise<unknown>;
  /** When the session that it failed with has ended for the server as well. */
  reaped?: Promise<void>;
}

/** What this process holds, what it has asked for, and what of it is not settled yet. */
export class SessionLocks {
  readonly #byOwner = new Map<
    string,
    { readonly hold: SessionHold; readonly session: Session; readonly name: string }
  >();
  /** Names for which a try is under way: two tries on one session would both succeed. */
  readonly #tries = new Map<string, Promise<unknown>>();
  /** Names that sessions of ours hold. */
  readonly #names = new Map<string, SessionHold>();
  /** What must have ended before an owner is known to hold nothing. */
  readonly #unsettled = new Set<Unsettled>();

  constructor(
    private readonly dialect: SessionDialect,
    private readonly sessions: SessionPool,
    private readonly settings: SessionSettings,
  ) {}

  held(owner: string): SessionHold | undefined {
    const found = this.#byOwner.get(owner)?.hold;
    return found?.live ? found : undefined;
  }

  /** One try that does not wait. `undefined`: somebody has it. */
  async tryLock(claim: SessionClaim): Promise<SessionHold | undefined> {
    const name = this.dialect.lockName(claim.key);
    for (let other = this.#tries.get(name); other; other = this.#tries.get(name)) await other;
    if (this.#names.get(name)?.live) return undefined;
    const trying = this.#try(claim, name);
    const done = (): unknown => this.#tries.delete(name);
    this.#tries.set(name, trying.then(done, done));
    return trying;
  }

  async #try(claim: SessionClaim, name: string): Promise<SessionHold | undefined> {
    for (let last = false; ; last = true) {
      const session = await this.sessions.forTry(name);
      const settled = this.#settle(session, claim, name, (ask) => this.dialect.tryLock(ask, claim));
      const tried = afterwards(settled, () => this.sessions.tried(session));
      try {
        return await within(tried, this.settings.commandTimeout, `${this.dialect.name}: the try for a lock`);
      } catch (error) {
        // An idle session may have died long ago, as in a restart of the server: the next one is a new one.
        if (last || !session.ended || isLockError(error)) throw error;
        await within(this.sessions.reaper.reaped(session.id), this.settings.commandTimeout, 'the end of a session');
      }
    }
  }

  /** Waits in the server's queue until granted or until `signal` aborts. `undefined`: nothing is held, ask again. */
  async lock(
    claim: SessionClaim,
    signal: AbortSignal,
    onWaiting: (session: Session) => void,
  ): Promise<SessionHold | undefined> {
    const name = this.dialect.lockName(claim.key);
    const session = await this.sessions.forWait();
    if (signal.aborted) {
      this.sessions.free(session);
      throw signal.reason;
    }
    // The server forgets whoever is gone: what ends the session ends the wait.
    const abort = (): void => session.destroy(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      const settled = this.#settle(session, claim, name, (ask) => this.dialect.lock(ask, claim));
      onWaiting(session);
      return await settled;
    } finally {
      signal.removeEventListener('abort', abort);
      this.sessions.free(session);
    }
  }

  async release(hold: SessionHold): Promise<boolean> {
    const { owner, key, label } = hold;
    const entry = this.#byOwner.get(owner);
    if (!hold.live || entry?.hold !== hold) return false;
    const { session, name } = entry;
    const unlocking = session.run(async (ask) => {
      // Somebody else may have got the name meanwhile, on this very session.
      if (session.holds.get(name) !== hold) return false;
      const unlocked = await this.dialect.unlock(ask, { key, owner, label });
      this.#forget(session, name, hold);
      return unlocked;
    });
    const known = unlocking.then(
      (unlocked) => {
        this.sessions.idle(session);
        return unlocked;
      },
      (error: unknown) => {
        session.destroy(error);
        this.sessions.idle(session);
        if (this.dialect.endedByServer(error)) return false;
        throw error;
      },
    );
    this.#track(owner, known, session);
    return within(known, this.settings.commandTimeout, `${this.dialect.name}: the release of a lock`);
  }

  /** Makes sure that the owner holds nothing and waits for nothing. */
  async abandon(owner: string): Promise<void> {
    for (let pass = 0; pass < 2; pass += 1) {
      const unsettled = [...this.#unsettled].filter((each) => each.owner === owner);
      await within(Promise.all(unsettled.map(settled)), this.settings.commandTimeout, 'what was asked for before');
      const hold = this.held(owner);
      if (hold) await this.release(hold);
    }
  }

  /** The session has ended, and with it its holds. */
  ended(session: Session): void {
    for (const [name, hold] of session.holds) {
      this.#byOwner.delete(hold.owner);
      if (this.#names.get(name) === hold) this.#names.delete(name);
    }
  }

  #settle(
    session: Session,
    claim: SessionClaim,
    name: string,
    work: (ask: AskSession) => Promise<bigint | undefined>,
  ): Promise<SessionHold | undefined> {
    const settled = session.run(async (ask) => {
      let fence: bigint | undefined;
      try {
        if (session.label !== claim.label) await this.#introduce(session, ask, claim.label);
        fence = await work(ask);
      } catch (error) {
        await this.#undo(session, ask, claim, error);
        throw error;
      }
      if (fence === undefined) return undefined;
      if (session.ended) throw session.ended.cause;
      const { key, owner, label } = claim;
      const hold = new SessionHold(key, owner, label, fence, (mine) => this.release(mine));
      // Also when its caller has given up: it asks again as the same owner, or abandons it.
      session.holds.set(name, hold);
      this.#names.set(name, hold);
      this.#byOwner.set(owner, { hold, session, name });
      return hold;
    });
    this.#track(claim.owner, settled, session);
    return settled;
  }

  // Once in the life of a session: all that a process takes has one label, unless two modules share a store.
  async #introduce(session: Session, ask: AskSession, label: string): Promise<void> {
    await this.dialect.introduce?.(ask, label);
    session.label = label;
  }

  // A session that others' locks stand on is worth a try; else its end is the surest way.
  async #undo(session: Session, ask: AskSession, claim: SessionClaim, error: unknown): Promise<void> {
    if (session.holds.size > 0 && !session.ended) {
      const undone = await this.dialect.unlock(ask, claim).then(
        () => true,
        () => false,
      );
      if (undone) return;
    }
    session.destroy(error);
  }

  #forget(session: Session, name: string, hold: SessionHold): void {
    hold.live = false;
    session.holds.delete(name);
    this.#byOwner.delete(hold.owner);
    if (this.#names.get(name) === hold) this.#names.delete(name);
  }

  #track(owner: string, work: Promise<unknown>, session: Session): void {
    const unsettled: Unsettled = { owner, work };
    this.#unsettled.add(unsettled);
    const forget = (): void => void this.#unsettled.delete(unsettled);
    work.then(forget, () => {
      if (!session.ended) {
        forget();
        return;
      }
      unsettled.reaped = this.sessions.reaper.reaped(session.id);
      unsettled.reaped.then(forget, forget);
    });
  }
}

async function settled(unsettled: Unsettled): Promise<void> {
  await unsettled.work.catch(() => undefined);
  await unsettled.reaped;
}

/** What `finally` does, with a third of its promises: these are what an uncontended lock costs beyond its two round trips. */
function afterwards<T>(promise: Promise<T>, work: () => void): Promise<T> {
  return promise.then(
    (value) => {
      work();
      return value;
    },
    (error: unknown) => {
      work();
      throw error;
    },
  );
}
