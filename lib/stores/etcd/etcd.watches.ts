import { systemClock, type Timer } from '../../contract/index.js';
import type { EtcdStream, EtcdWatchReply } from './etcd.client.js';
import type { EtcdRoute, EtcdRoutes } from './etcd.routes.js';

interface Watch {
  readonly name: string;
  /** The revision in which the entry was known to stand last. */
  seen: bigint;
  readonly ring: () => void;
  id?: string;
}

interface OpenStream {
  readonly route: EtcdRoute;
  readonly stream: EtcdStream<EtcdWatchReply>;
  /** Those whose numbers the server has not told yet, in the order in which it was asked. */
  readonly asked: Watch[];
  readonly byId: Map<string, Watch>;
  heard: number;
}

export interface WatchSettings {
  /** ms between two looks whether the stream still works. */
  readonly interval: number;
  /** ms that an answer may take. */
  readonly timeout: number;
}

/** The stream stays for so long, in ms, when nobody waits any more. */
const LINGER = 2_000;
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;

/**
 * Rings when entries are removed. One stream for all who wait; a new one, by another way, when it ends or goes silent.
 *
 * A watch begins with the present. One that began in the past would miss nothing, but etcd looks after those only ten times a
 * second; so whoever waits is rung where the present is later than what it has seen, and looks once more.
 */
export class EtcdWatches {
  readonly #watches = new Set<Watch>();
  #open: OpenStream | undefined;
  #opening = false;
  #failures = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor(
    private readonly routes: EtcdRoutes,
    private readonly settings: WatchSettings,
  ) {
    routes.onMove(() => {
      if (this.#open) this.#reopen(this.#open);
    });
  }

  /** How many watches there are. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * @param seen the revision in which the entry was seen to stand
   * @returns how to stop
   */
  add(name: string, seen: bigint, ring: () => void): () => void {
    const watch: Watch = { name, seen, ring };
    this.#watches.add(watch);
    if (this.#open) this.#ask(this.#open, watch);
    else void this.#connect();
    return () => this.#remove(watch);
  }

  close(): void {
    this.#closed = true;
    this.#watches.clear();
    this.#timer?.cancel();
    this.#drop();
  }

  #remove(watch: Watch): void {
    this.#watches.delete(watch);
    // One without a number is cancelled when it gets it.
    if (watch.id !== undefined) this.#cancel(watch.id);
    if (this.#watches.size === 0 && this.#open) this.#schedule(LINGER);
  }

  async #connect(): Promise<void> {
    if (this.#opening || this.#closed) return;
    this.#opening = true;
    const route = this.routes.current;
    try {
      const stream = await route.client.watchClient.watch();
      this.#opening = false;
      if (this.#isIdle()) hangUp(stream);
      else this.#begin(route, stream);
    } catch {
      this.#opening = false;
      this.#retry();
    }
  }

  /** Nobody needs a stream; that may have come about while one was opened. */
  #isIdle(): boolean {
    return this.#closed || this.#watches.size === 0;
  }

  #begin(route: EtcdRoute, stream: EtcdStream<EtcdWatchReply>): void {
    const open: OpenStream = { route, stream, asked: [], byId: new Map(), heard: systemClock.now() };
    this.#open = open;
    stream.on('data', (reply) => this.#hear(open, reply));
    stream.on('error', () => this.#reopen(open));
    stream.on('end', () => this.#reopen(open));
    for (const watch of this.#watches) this.#ask(open, watch);
    this.#schedule(this.settings.interval);
  }

  #ask(open: OpenStream, watch: Watch): void {
    delete watch.id;
    open.asked.push(watch);
    open.stream.write({ create_request: { key: Buffer.from(watch.name), filters: ['Noput'] } });
  }

  #cancel(id: string): void {
    if (!this.#open?.byId.delete(id)) return;
    this.#open.stream.write({ cancel_request: { watch_id: id } });
  }

  #hear(open: OpenStream, reply: EtcdWatchReply): void {
    if (open !== this.#open) return;
    open.heard = systemClock.now();
    this.#failures = 0;
    if (reply.created) {
      const watch = open.asked.shift();
      if (watch === undefined) return;
      // Refused, as when a permission was taken away: the next look tells.
      if (reply.canceled) return;
      watch.id = reply.watch_id;
      open.byId.set(reply.watch_id, watch);
      if (!this.#watches.has(watch)) this.#cancel(watch.id);
      else if (BigInt(reply.header.revision) > watch.seen) this.#ring(watch, reply);
      return;
    }
    const watch = open.byId.get(reply.watch_id);
    if (watch === undefined) return;
    if (reply.canceled) open.byId.delete(reply.watch_id);
    else if (reply.events.length > 0) this.#ring(watch, reply);
  }

  #ring(watch: Watch, { header }: EtcdWatchReply): void {
    watch.seen = BigInt(header.revision);
    watch.ring();
  }

  #reopen(open: OpenStream): void {
    if (open !== this.#open) return;
    this.#drop();
    if (this.#watches.size > 0) this.#retry();
  }

  #retry(): void {
    if (this.#isIdle()) return;
    this.#failures += 1;
    const pause = Math.min(FIRST_PAUSE * 2 ** (this.#failures - 1), LONGEST_PAUSE);
    this.#timer?.cancel();
    this.#timer = systemClock.after(pause, () => void this.#connect());
  }

  #drop(): void {
    const { stream } = this.#open ?? {};
    this.#open = undefined;
    if (stream) hangUp(stream);
  }

  #schedule(delay: number): void {
    this.#timer?.cancel();
    this.#timer = systemClock.after(delay, () => this.#look());
  }

  /** A server that has gone without a word leaves the stream as it is: it is asked for a sign of life now and then. */
  #look(): void {
    const open = this.#open;
    if (open === undefined) return;
    if (this.#watches.size === 0) {
      this.#drop();
      return;
    }
    const asked = systemClock.now();
    open.stream.write({ progress_request: {} });
    this.#timer = systemClock.after(this.settings.timeout, () => {
      if (open.heard >= asked) {
        this.#schedule(this.settings.interval);
        return;
      }
      this.routes.failed(open.route);
      this.#reopen(open);
    });
  }
}

/** In this order: a stream that is cancelled before its end has etcd3 close all connections to the member. */
function hangUp(stream: EtcdStream<unknown>): void {
  stream.on('error', () => undefined);
  stream.end();
  stream.cancel();
}
