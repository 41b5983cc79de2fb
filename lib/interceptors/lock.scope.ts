import { HttpException, type ExecutionContext } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { onClientGone } from './client.connection.js';

const storage = new AsyncLocalStorage<LockScope>();

/** One call of a handler: what keys can be read from, who waits for its answer, and the locks that last as long as it. */
export class LockScope {
  readonly #claimed = new Set<symbol>();
  readonly #holding: Promise<void>[] = [];
  readonly #finished: Promise<void>;
  #finish!: () => void;
  #waits = 0;
  #controller: AbortController | undefined;
  #forgetClient: (() => void) | undefined;

  constructor(
    private readonly context: ExecutionContext,
    /** The module's default. */
    readonly abortOnDisconnect = false,
  ) {
    this.#finished = new Promise((resolve) => (this.#finish = resolve));
  }

  static current(): LockScope | undefined {
    return storage.getStore();
  }

  run<T>(callback: () => T): T {
    return storage.run(this, callback);
  }

  /** Whether the handler itself is calling, for the first time: its lock lasts as long as the scope. */
  claim(lock: symbol, locksOf: (handler: object) => readonly symbol[]): boolean {
    if (this.#claimed.has(lock) || !locksOf(this.context.getHandler()).includes(lock)) return false;
    this.#claimed.add(lock);
    return true;
  }

  /** Resolves when the handler's stream has ended. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  /** One of the handler's locks is waited for, until the returned function is called. */
  wait(): () => void {
    let over = false;
    this.#waits += 1;
    return () => {
      if (!over) this.#waits -= 1;
      over = true;
    };
  }

  /** Makes {@link end} wait for a release; what it rejects with becomes the handler's error. */
  keep(released: Promise<void>): void {
    // Looked at in end(): until then a rejection is not a stray one.
    released.catch(() => undefined);
    this.#holding.push(released);
  }

  /** Gives the handler's locks back. */
  async end(): Promise<void> {
    this.#finish();
    // Whoever stands between has answered already, as a time-out does.
    if (this.#waits > 0) this.#controller?.abort(new HttpException('it was answered before the lock was there', 499));
    this.#forgetClient?.();
    this.#forgetClient = undefined;
    await Promise.all(this.#holding);
  }

  /** Nobody listens any more: ends the wait for the handler's locks, and gives back those it holds. */
  leave(): void {
    this.#controller?.abort(clientGone());
    this.end().catch(() => undefined);
  }

  /** What `<ctx.…>` reads from: the HTTP request, the GraphQL context's request, the WebSocket client, the message context. */
  request(): unknown {
    const { context } = this;
    switch (context.getType<string>()) {
      case 'http':
        return context.switchToHttp().getRequest();
      case 'ws':
        return context.switchToWs().getClient();
      case 'graphql': {
        const graphql = context.getArgByIndex<{ req?: unknown } | undefined>(2);
        return graphql?.req ?? graphql;
      }
      default:
        return context.switchToRpc().getContext();
    }
  }

  /**
   * Aborts when nobody waits for the handler's answer any more: its HTTP client is gone, or its stream was unsubscribed.
   * Made when it is first asked for.
   *
   * Only for the wait of the handler's own lock, when nothing has been done yet, and for those who ask with
   * `abortOnDisconnect`: what a body does next must not depend on whether its client is still there.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#forgetClient = onClientGone(this.context, () => controller.abort(clientGone()));
    }
    return this.#controller.signal;
  }
}

// Nobody is there to read the status (nginx's 499), but Nest logs no HttpException as a failure of the application.
function clientGone(): HttpException {
  return new HttpException('the client disconnected before it was answered', 499);
}
