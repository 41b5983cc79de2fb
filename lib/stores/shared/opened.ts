import type { LockUnavailableError } from '../../errors/index.js';
import { closedError, notOpenError } from './store-state.js';

export interface Openable<T> {
  /** The store's name. */
  readonly name: string;
  make(): Promise<T>;
  end(opened: T, closed: LockUnavailableError): Promise<void>;
}

/** What a store opens once, and has until it is closed. An opening that has failed may be tried again. */
export class Opened<T> {
  #opening: Promise<T> | undefined;
  #current: T | undefined;
  #closing: Promise<void> | undefined;

  constructor(private readonly way: Openable<T>) {}

  /** Also after it was closed; `undefined` until it is open. */
  get current(): T | undefined {
    return this.#current;
  }

  /** @throws LockUnavailableError when it is closed, or not open yet */
  get(): T {
    if (this.#closing) throw closedError(this.way.name);
    if (this.#current === undefined) throw notOpenError(this.way.name);
    return this.#current;
  }

  async open(): Promise<void> {
    if (this.#closing) throw closedError(this.way.name);
    this.#opening ??= this.way.make();
    const opening = this.#opening;
    try {
      this.#current = await opening;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    if (opened !== undefined) await this.way.end(opened, closedError(this.way.name));
  }
}
