import {
  EXCLUSIVE,
  type AcquireRequest,
  type QueueStatus,
  type RenewOutcome,
  type StoreHold,
} from '../contract/index.js';
import type { Backend } from './backend.js';
import type { EngineContext } from './engine.context.js';
import type { LockRequest } from './lock.request.js';
import { ownerToken } from './owner-token.js';
import { pause } from './pause.js';

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;
const OPEN_FOR_ONE_TRY = 1_000;

/** The callers on whose behalf a process contends for a key. */
export interface Contenders {
  /** What the first of them asks for; `undefined` when nobody is left. */
  first(): LockRequest | undefined;
  heard(status: QueueStatus): void;
  granted(hold: StoreHold, since: number): void;
}

interface Won {
  readonly hold: StoreHold;
  readonly since: number;
}

/** What a store is asked for, with a signal that is made only for a store that wants it. */
class StoreRequest implements AcquireRequest {
  readonly mode = EXCLUSIVE;
  ttl = 0;
  wait = false;
  #controller: AbortController | undefined;
  #aborted = false;

  constructor(
    readonly key: string,
    readonly owner: string,
    readonly label: string,
    readonly onStatus: (status: QueueStatus) => void,
  ) {}

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}

/** The one acquisition by which a process contends for a key in the store, for as long as any of its callers waits. */
export class Contender {
  #request: StoreRequest;
  #stopped = false;
  /** Whether something of ours may stand in the store. */
  #dirty = false;

  constructor(
    private readonly context: EngineContext,
    private readonly backend: Backend,
    private readonly key: string,
    private readonly callers: Contenders,
  ) {
    this.#request = this.#newRequest();
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#stopped = true;
    this.#request.abort();
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  async run(): Promise<void> {
    const won = await this.#contend();
    if (won === undefined) this.#withdraw();
    else this.callers.granted(won.hold, won.since);
  }

  async #contend(): Promise<Won | undefined> {
    for (let failures = 0; ; failures += 1) {
      try {
        while (!this.#stopped) {
          const first = this.callers.first();
          if (first === undefined) break;
          const won = await this.#try(first);
          if (won !== undefined) return won;
        }
        return undefined;
      } catch (cause) {
        // It was told to end, and that is all the error says. Whoever has come since is the next contender's.
        if (this.#stopped) return undefined;
        this.callers.heard({ kind: 'unreachable', cause });
        // The owner stays the same: a win whose answer was lost is found by the next try, and a queue keeps its place.
        await pause(this.context.clock, backoff(failures), this.#request.signal);
      }
    }
  }

  async #try(first: LockRequest): Promise<Won | undefined> {
    if (!this.backend.isOpen) await this.#open(first);
    if (this.#stopped) return undefined;
    const request = this.#request;
    request.ttl = first.ttl;
    request.wait = first.wait > 0;
    this.#dirty = true;
    const result = await this.backend.store.acquire(request);
    if (!result.acquired) {
      this.#dirty = false;
      this.callers.heard({ kind: 'contended', holder: result.holder });
      return undefined;
    }
    const { hold } = result;
    const since = this.context.clock.now();
    // Whoever is first by now may want another ttl.
    const ttl = this.callers.first()?.ttl ?? request.ttl;
    const lost = ttl !== request.ttl && (await this.#renewedFor(hold, ttl)) === 'lost';
    if (!lost && this.context.clock.now() < hold.validUntil) return { hold, since };
    this.#startOver();
    throw new Error(`the store took longer than the ttl (${request.ttl} ms) to answer, or lost the key at once`);
  }

  /** One try does not wait for as long as a first connection may take. */
  #open({ wait }: LockRequest): Promise<void> {
    const opening = this.backend.open();
    if (wait > 0) return opening;
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`it was not open within ${OPEN_FOR_ONE_TRY} ms`));
      const timer = this.context.clock.after(OPEN_FOR_ONE_TRY, late);
      opening.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  async #renewedFor(hold: StoreHold, ttl: number): Promise<RenewOutcome | undefined> {
    const outcomes = await this.backend.store.renew?.([{ hold, ttl }]);
    return outcomes?.[0];
  }

  #startOver(): void {
    this.#withdraw();
    this.#request = this.#newRequest();
  }

  #withdraw(): void {
    if (this.#dirty) this.context.cleaner.abandon(this.backend, this.key, this.#request.owner, this.#request.ttl);
    this.#dirty = false;
  }

  #newRequest(): StoreRequest {
    return new StoreRequest(this.key, ownerToken(), this.context.label, (status) => this.callers.heard(status));
  }
}

function backoff(failures: number): number {
  return Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE) * (0.5 + Math.random() / 2);
}
