import { leaseDeadline, systemClock, type Timer } from '../../contract/index.js';
import { LockUnavailableError, type LockError } from '../../errors/index.js';
import type { EntryHold } from '../shared/queue/entry.hold.js';
import { codeOf, ZK } from './zookeeper.errors.js';
import type { Link, LinkListener } from './zookeeper.link.js';
import { ZookeeperSession } from './zookeeper.session.js';

/** Of a session's time: how often it gives a sign of life, when a connection without an answer is given up, and one without a greeting. */
const ROUND = 1 / 6;
const SILENT = 1 / 3;
const UNGREETED = 1 / 6;

/** A follower tells its leader twice a tick which sessions it has heard of; a little later than that, it has. */
const REPORTED = 0.55;
const USUAL_TICK = 3_000;

export interface KeeperEvents {
  /** Those that were held when a session ended, or counted as ended. */
  over(holds: readonly EntryHold[]): void;
  /** The session is alive, and requests are answered. */
  alive(): void;
}

/**
 * Keeps the session of a link alive, and knows until when it is certain to be.
 *
 * The library's own pings tell nothing: it does not look for their answers. And an answer alone is no proof: a follower answers reads for seconds after
 * it was cut off from its leader, and it is the leader that ends sessions. So a sign of life is a write, which the leader and a majority have to confirm; and it
 * counts once the leader must know of it. The leader hears of sessions from its followers, twice a tick, on the connection that the writes take
 * too, in order: so after a write that was sent half a tick later has come back, the follower has sent its report, and after one more, the leader
 * has received it. Each round is two writes, one after the other: the second one's sending is what the next round proves.
 *
 * A connection that does not answer is given up while there is time to reach another server in the same session.
 */
export class SessionKeeper implements LinkListener {
  #session: ZookeeperSession | undefined;
  #certainUntil = Infinity;
  /** When what the next round proves was sent. */
  #unproven = -Infinity;
  #next: Timer | undefined;
  #lapse: Timer | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly link: Link,
    private readonly tickTime: number | undefined,
    private readonly events: KeeperEvents,
  ) {
    link.listener = this;
    if (link.connected) this.connected(-Infinity);
    else this.#watchConnecting();
  }

  get current(): ZookeeperSession | undefined {
    return this.#session;
  }

  /** The session, as soon as it is alive. */
  session(timeout: number): Promise<ZookeeperSession> {
    if (this.#session?.alive) return Promise.resolve(this.#session);
    if (this.link.ended) return Promise.reject(this.link.ended);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        timer.cancel();
        this.#waiting.delete(settle);
        if (this.#session?.alive) resolve(this.#session);
        else if (this.link.connected) reject(this.#notAlive(timeout));
        else reject(this.link.ended ?? this.link.unreachable(timeout));
      };
      const timer: Timer = systemClock.after(timeout, settle);
      this.#waiting.add(settle);
    });
  }

  // LinkListener

  connected(since: number): void {
    // The server that was reached has asked the leader, which has counted from then.
    this.#unproven = since;
    if (since > -Infinity) this.#extend(since);
    this.#plan(since > -Infinity ? this.#interval : 0, () => void this.#round());
  }

  disconnected(): void {
    this.#watchConnecting();
  }

  ended(cause: LockError): void {
    this.#next?.cancel();
    this.#lapse?.cancel();
    this.#session?.end(cause);
    this.#wake();
  }

  get #timeout(): number {
    return this.link.sessionTimeout;
  }

  /** From an answer to the next round. */
  get #interval(): number {
    // Sessions are two ticks long at the least, unless a server is configured otherwise.
    const tick = this.tickTime ?? Math.min(this.#timeout / 2, USUAL_TICK);
    const reported = tick * REPORTED + 5;
    return this.#session?.alive ? Math.max(reported, this.#timeout * ROUND) : reported;
  }

  async #round(): Promise<void> {
    const { link } = this;
    const { connection } = link;
    const here = (): boolean => link.connected && link.connection === connection;
    if (!here()) return;
    try {
      await link.calls.barrier(this.#timeout * SILENT);
      const sent = performance.now();
      await link.calls.barrier(this.#timeout * SILENT);
      // What another connection has proven is not this one's: its report may not have arrived.
      if (!here()) return;
      if (this.#unproven > -Infinity) this.#extend(this.#unproven);
      this.#unproven = sent;
      this.#plan(this.#interval, () => void this.#round());
      if (this.#session?.alive) this.events.alive();
    } catch (error) {
      if (codeOf(error) === ZK.sessionExpired) link.expire();
      if (!here()) return;
      link.drop('the server does not answer');
      // Unless there was nothing to be dropped, what follows is told.
      this.#plan(this.#interval, () => void this.#round());
    }
  }

  /** Until it is connected: a server that takes a connection and says nothing is left for the next one. */
  #watchConnecting(): void {
    const { link } = this;
    if (link.connected || link.ended) return;
    if (link.owned && performance.now() > this.#certainUntil + this.#timeout) {
      link.giveUp();
      return;
    }
    const limit = Math.max(this.#timeout * UNGREETED, 100);
    if (link.connectingFor(limit)) link.drop('the server does not greet');
    this.#plan(limit / 2, () => this.#watchConnecting());
  }

  #plan(delay: number, then: () => void): void {
    this.#next?.cancel();
    this.#next = systemClock.after(delay, then);
  }

  #extend(start: number): void {
    const validUntil = leaseDeadline(start, this.#timeout);
    if (validUntil <= performance.now()) return;
    if (!this.#session || this.#session.ended) {
      this.#session = new ZookeeperSession(this.link, (holds) => this.events.over(holds));
    }
    this.#session.extend(validUntil);
    this.#certainUntil = validUntil;
    this.#lapse ??= this.#watchLapse(this.#session);
    this.#wake();
  }

  #watchLapse(session: ZookeeperSession): Timer {
    return systemClock.after(Math.max(1, session.validUntil - performance.now()), () => {
      // What has come in while the process was blocked is heard first.
      setImmediate(() => {
        this.#lapse = undefined;
        if (session.ended) return;
        if (session.alive) this.#lapse = this.#watchLapse(session);
        else session.end(new LockUnavailableError(`zookeeper at ${this.link.address} was silent for a session's time`));
      });
    });
  }

  #wake(): void {
    for (const settle of [...this.#waiting]) settle();
  }

  #notAlive(timeout: number): LockUnavailableError {
    return new LockUnavailableError(`zookeeper at ${this.link.address} has confirmed no session within ${timeout} ms`);
  }
}
