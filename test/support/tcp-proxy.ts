import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy to one server, with faults on demand. */
export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly client: Socket; readonly upstream: Socket }>();
  #hearsClients = true;
  #hearsServer = true;
  #refuses = false;
  #replyFilter: ((reply: Buffer) => boolean) | undefined;
  #held: (() => void)[] = [];

  private constructor(
    private readonly targetPort: number,
    private readonly targetHost: string,
  ) {
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(targetPort: number, targetHost = '127.0.0.1'): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort, targetHost);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Requests still reach the server; its answers are thrown away. */
  dropReplies(): void {
    this.#hearsServer = false;
  }

  /** Throws away the next piece of an answer that `matches`, and only that. Resolves when it has come. */
  dropNextReply(matches: (reply: Buffer) => boolean = () => true): Promise<void> {
    return new Promise((resolve) => {
      this.#replyFilter = (reply) => {
        if (!matches(reply)) return true;
        this.#replyFilter = undefined;
        resolve();
        return false;
      };
    });
  }

  /** Nothing passes in either direction, and connections stay open, as in a partition. Kept until {@link heal}. */
  blackHole(): void {
    this.#hearsClients = false;
    this.#hearsServer = false;
    this.#holding = true;
  }

  #holding = false;

  /** Closes every connection, and, until {@link heal}, refuses new ones. */
  cut({ refuse = true }: { readonly refuse?: boolean } = {}): void {
    this.#refuses = refuse;
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  /** Passes everything again. What a black hole kept goes out now, late, as TCP would send it. */
  heal(): void {
    this.#hearsClients = true;
    this.#hearsServer = true;
    this.#holding = false;
    this.#refuses = false;
    this.#replyFilter = undefined;
    for (const send of this.#held.splice(0)) send();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#refuses) {
      client.destroy();
      return;
    }
    const upstream = connect(this.targetPort, this.targetHost);
    const pair = { client, upstream };
    this.#pairs.add(pair);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    client.on('data', (request: Buffer) => this.#pass(this.#hearsClients, upstream, request));
    upstream.on('data', (reply: Buffer) => {
      if (this.#replyFilter && !this.#replyFilter(reply)) return;
      this.#pass(this.#hearsServer, client, reply);
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
    }
  }

  #pass(heard: boolean, to: Socket, data: Buffer): void {
    if (heard) to.write(data);
    else if (this.#holding) {
      this.#held.push(() => {
        if (!to.destroyed) to.write(data);
      });
    }
  }
}
