import type { RedisSubscriber } from './redis.driver.js';

/** A client's connection that only listens. One implementation for each family. */
export interface ListeningConnection {
  /** Whether a subscription would be sent now instead of being queued in the client. */
  readonly ready: boolean;
  /** Connects unless it does so already. What becomes of it is told by the events. */
  connect(): void;
  on(event: 'ready' | 'error', listener: (error?: unknown) => void): void;
  off(event: 'ready' | 'error', listener: (error?: unknown) => void): void;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  destroy(): void;
}

/**
 * The channels of one connection. They are kept here, and not in the client: it would queue one command for each change
 * for as long as it is not connected.
 */
export class Subscriptions implements RedisSubscriber {
  onTrouble: (() => void) | undefined;
  readonly #listeners = new Map<string, (message: string) => void>();
  readonly #sent = new Set<string>();
  #arrival: Promise<void> | undefined;

  constructor(private readonly connection: ListeningConnection) {
    // An error that nobody listens to ends the process, or is printed. It reconnects by itself, and the poll bridges the gap.
    connection.on('error', () => this.onTrouble?.());
    connection.on('ready', () => void this.#restore().catch(() => undefined));
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.#listeners.set(channel, listener);
    if (this.connection.ready) await this.#send(channel);
    else await this.#arrive();
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#listeners.delete(channel);
    if (this.connection.ready && this.#sent.delete(channel)) await this.connection.unsubscribe(channel);
  }

  receive(channel: string, message: string): void {
    this.#listeners.get(channel)?.(message);
  }

  destroy(): void {
    this.#listeners.clear();
    this.connection.destroy();
  }

  async #send(channel: string): Promise<void> {
    this.#sent.add(channel);
    await this.connection.subscribe(channel);
  }

  /** However many wait for the connection, it gets one set of listeners. */
  #arrive(): Promise<void> {
    this.#arrival ??= this.#connected().finally(() => (this.#arrival = undefined));
    return this.#arrival;
  }

  async #connected(): Promise<void> {
    let ready = (): void => undefined;
    let failed = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        // A wrong password is told by an event only: the connection goes on trying.
        ready = () => resolve(this.#restore());
        failed = reject;
        this.connection.on('ready', ready);
        this.connection.on('error', failed);
        this.connection.connect();
      });
    } finally {
      this.connection.off('ready', ready);
      this.connection.off('error', failed);
    }
  }

  async #restore(): Promise<void> {
    const stale = [...this.#sent].filter((channel) => !this.#listeners.has(channel));
    this.#sent.clear();
    const sent = [...this.#listeners.keys()].map((channel) => this.#send(channel));
    await Promise.all([...sent, ...stale.map((channel) => this.connection.unsubscribe(channel))]);
  }
}
