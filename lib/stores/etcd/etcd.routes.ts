import type { EtcdClient } from './etcd.client.js';

/** One way to etcd: a member, or a client that chooses the member by itself. */
export interface EtcdRoute {
  readonly address: string;
  readonly client: EtcdClient;
  /** The client retries by itself, and asks for its call options anew at each try. */
  readonly retries: boolean;
}

class OwnRoute implements EtcdRoute {
  readonly retries = false;
  #client: EtcdClient | undefined;

  constructor(
    readonly address: string,
    private readonly make: (host: string) => EtcdClient,
  ) {}

  get client(): EtcdClient {
    this.#client ??= this.make(this.address);
    return this.#client;
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}

/** The ways to etcd, of which one is in use: the next one when that fails, and that one for everybody. */
export class EtcdRoutes {
  readonly #own: readonly OwnRoute[];
  readonly #given: EtcdRoute | undefined;
  readonly #moveListeners = new Set<() => void>();
  #index = 0;

  private constructor(own: readonly OwnRoute[], given?: EtcdRoute) {
    this.#own = own;
    this.#given = given;
    // So that the processes of a fleet do not all use the first.
    if (own.length > 0) this.#index = Math.floor(Math.random() * own.length);
  }

  static own(hosts: readonly string[], make: (host: string) => EtcdClient): EtcdRoutes {
    return new EtcdRoutes(hosts.map((host) => new OwnRoute(host, make)));
  }

  static given(client: EtcdClient): EtcdRoutes {
    return new EtcdRoutes([], { address: 'the given client', client, retries: true });
  }

  get current(): EtcdRoute {
    return this.#given ?? (this.#own[this.#index] as OwnRoute);
  }

  get count(): number {
    return Math.max(1, this.#own.length);
  }

  /** For messages. */
  get address(): string {
    return this.#own.map(({ address }) => address).join(', ') || this.current.address;
  }

  /** That way did not work: whoever asks next takes another. */
  failed(route: EtcdRoute): void {
    if (route !== this.current || this.#own.length < 2) return;
    this.#index = (this.#index + 1) % this.#own.length;
    for (const listener of [...this.#moveListeners]) listener();
  }

  /** A client that logs in anew. */
  renew(route: EtcdRoute): void {
    if (route instanceof OwnRoute) route.close();
  }

  onMove(listener: () => void): void {
    this.#moveListeners.add(listener);
  }

  /** Closes the clients that were made here. */
  close(): void {
    for (const route of this.#own) route.close();
  }
}
