import { HttpException, type ExecutionContext } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';

/** What an HTTP response is, on Express and on Fastify (whose replies wrap it). */
interface RawResponse {
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

const storage = new AsyncLocalStorage<LockScope>();

/** One call of a handler: what keys can be read from, who waits for its answer, and the locks that last as long as it. */
export class LockScope {
  readonly #claimed = new Set<symbol>();
  readonly #holding: Promise<void>[] = [];
  readonly #finished: Promise<void>;
  #finish!: () => void;
  #controller: AbortController | undefined;
  #forgetClient: (() => void) | undefined;

  constructor(private readonly context: ExecutionContext) {
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

  /** Makes {@link end} wait for a release; what it rejects with becomes the handler's error. */
  keep(released: Promise<void>): void {
    // Looked at in end(): until then a rejection is not a stray one.
    released.catch(() => undefined);
    this.#holding.push(released);
  }

  /** Gives the handler's locks back. */
  async end(): Promise<void> {
    this.#finish();
    this.#forgetClient?.();
    this.#forgetClient = undefined;
    await Promise.all(this.#holding);
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
   * Aborts when the HTTP client is gone before its answer; absent elsewhere. Made when it is first asked for.
   *
   * Only for the wait of the handler's own lock, when nothing has been done yet: what a body does next must not depend on
   * whether its client is still there.
   */
  get signal(): AbortSignal | undefined {
    if (this.#controller === undefined && this.context.getType() === 'http') this.#watchClient();
    return this.#controller?.signal;
  }

  #watchClient(): void {
    const response = this.context.switchToHttp().getResponse<RawResponse & { raw?: RawResponse }>();
    const raw = response.raw ?? response;
    if (typeof raw.once !== 'function') return;
    const controller = new AbortController();
    this.#controller = controller;
    const onClose = () => {
      if (!raw.writableFinished) controller.abort(clientGone());
    };
    if (raw.destroyed) {
      onClose();
      return;
    }
    raw.once('close', onClose);
    this.#forgetClient = () => raw.removeListener('close', onClose);
  }
}

// Nobody is there to read the status (nginx's 499), but Nest logs no HttpException as a failure of the application.
function clientGone(): HttpException {
  return new HttpException('the client disconnected while its request waited for a lock', 499);
}
