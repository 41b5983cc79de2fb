import { systemClock, type Timer } from '../../contract/index.js';
import { LockUnavailableError, type LockError } from '../../errors/index.js';
import { CLIENT_STATE, isConnected, MANAGER_STATE, type ClientCalls } from './zookeeper.client.js';
import { Calls } from './zookeeper.calls.js';
import { kill } from './zookeeper.mending.js';
import type { ZookeeperSettings } from './zookeeper.options.js';
import { Watches } from './zookeeper.watches.js';

/** Who must know what becomes of a client. */
export interface LinkListener {
  /** @param since when the attempt began that has succeeded, on the monotonic clock; -Infinity where that is not known */
  connected(since: number): void;
  disconnected(): void;
  ended(cause: LockError): void;
}

/** One client and its one session at the server, which may come to know many connections. */
export class Link {
  readonly calls: Calls;
  readonly watches: Watches;
  listener: LinkListener | undefined;

  /** Since when it has been trying to connect. */
  #since = -Infinity;
  #connections = 0;
  #connected = false;
  #ended: LockError | undefined;
  readonly #waiting = new Set<() => void>();
  readonly #onState = ({ code }: { readonly code: number }): void => this.#changed(code);
  readonly #onManagerState = (state: number): void => {
    if (state === MANAGER_STATE.connecting) this.#since = performance.now();
    else if (state === MANAGER_STATE.closing) this.#closedByUser();
  };

  constructor(
    private readonly client: ClientCalls,
    readonly address: string,
    readonly owned: boolean,
    private readonly settings: ZookeeperSettings,
  ) {
    this.calls = new Calls(client, address, settings.commandTimeout, settings.acl);
    this.watches = new Watches(this.calls);
    client.on('state', this.#onState);
    client.connectionManager?.on?.('state', this.#onManagerState);
    if (owned) client.connect();
    else if (isConnected(client)) this.#changed(CLIENT_STATE.connected);
  }

  get connected(): boolean {
    return this.#connected;
  }

  get ended(): LockError | undefined {
    return this.#ended;
  }

  /** Which connection it is, counted from 1. */
  get connection(): number {
    return this.#connections;
  }

  /** The session at the server. */
  get sessionId(): string {
    return this.client.getSessionId().toString('hex');
  }

  /** ms that the server has agreed to. */
  get sessionTimeout(): number {
    return this.client.getSessionTimeout();
  }

  get chroot(): string {
    return this.client.connectionManager?.chrootPath ?? '';
  }

  /** Resolves when it is connected, if that is within `timeout` ms. */
  ready(timeout = this.settings.commandTimeout): Promise<void> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (this.#connected) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        timer.cancel();
        this.#waiting.delete(settle);
        if (this.#connected) resolve();
        else reject(this.#ended ?? this.unreachable(timeout));
      };
      const timer: Timer = systemClock.after(timeout, settle);
      this.#waiting.add(settle);
    });
  }

  /** The server says that the session is no more. */
  expire(): void {
    this.#fail(new LockUnavailableError(`zookeeper at ${this.address}: the session has expired${this.#advice()}`));
  }

  /**
   * Gives the client up: no server has taken its session for so long that none will. One that has lost its data does not even say so: it
   * refuses whoever has seen more than it has.
   */
  giveUp(): void {
    this.#fail(
      new LockUnavailableError(`zookeeper at ${this.address} has not been reached for twice a session's time`),
    );
  }

  /** Its session ends at the server as soon as that hears of it: whoever holds is told before. */
  #closedByUser(): void {
    this.#fail(new LockUnavailableError(`zookeeper at ${this.address}: the client was closed${this.#advice()}`));
  }

  /** Gives the connection up, so that the client makes the next one, with the next server and in the same session. */
  drop(reason: string): void {
    // With an error: the library then also clears its timer for this connection, which would hit the next one.
    this.client.connectionManager?.socket?.destroy(new Error(reason));
  }

  /** Whether it has been trying to connect for longer than `limit` ms. The library waits for a server's greeting for ever. */
  connectingFor(limit: number): boolean {
    const connecting = this.client.connectionManager?.state === MANAGER_STATE.connecting;
    return !this.#connected && connecting && performance.now() - this.#since > limit;
  }

  /** Ends the session at the server, if the client is our own, and stops listening. */
  async close(reason: LockError): Promise<void> {
    const connected = this.#connected;
    this.#end(reason);
    if (!this.owned) return;
    if (connected) await this.#closeSession();
    kill(this.client);
  }

  #closeSession(): Promise<void> {
    const manager = this.client.connectionManager;
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        manager?.removeListener?.('state', onState);
        resolve();
      };
      const onState = (state: number): void => {
        if (state === MANAGER_STATE.closed) done();
      };
      const timer: Timer = systemClock.after(this.settings.commandTimeout, done, true);
      manager?.on?.('state', onState);
      try {
        this.client.close();
      } catch {
        done();
      }
    });
  }

  #changed(code: number): void {
    if (code === CLIENT_STATE.connected) {
      this.#connected = true;
      this.#connections += 1;
      this.#wake();
      this.listener?.connected(this.#since);
    } else if (code === CLIENT_STATE.expired) {
      this.expire();
    } else if (code === CLIENT_STATE.authFailed) {
      const refused = new LockUnavailableError(`zookeeper at ${this.address} refuses the credentials`, {
        retryable: false,
      });
      this.#fail(refused);
    } else if (this.#connected) {
      this.#connected = false;
      this.listener?.disconnected();
    }
  }

  #end(cause: LockError): void {
    if (this.#ended) return;
    this.#ended = cause;
    this.#connected = false;
    this.client.removeListener('state', this.#onState);
    this.client.connectionManager?.removeListener?.('state', this.#onManagerState);
    this.#wake();
    this.watches.end();
    this.listener?.ended(cause);
  }

  #fail(cause: LockError): void {
    this.#end(cause);
    if (this.owned) kill(this.client);
  }

  #wake(): void {
    for (const settle of [...this.#waiting]) settle();
  }

  unreachable(timeout: number): LockUnavailableError {
    const advice = this.owned ? '' : '. Connecting it is yours: client.connect()';
    return new LockUnavailableError(`zookeeper at ${this.address} cannot be reached within ${timeout} ms${advice}`);
  }

  #advice(): string {
    return this.owned ? '' : ', and a client does not come back from that: make a new one, and a store with it';
  }
}
