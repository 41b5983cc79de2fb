import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Piece {
  readonly data: Buffer;
  readonly since: number;
}

/** What a server sends to one replica. */
class ReplicaStream {
  #pieces: Piece[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly to: Socket,
    private readonly delay: () => number,
  ) {}

  push(data: Buffer): void {
    this.#pieces.push({ data, since: performance.now() });
    this.flush();
  }

  /** Sends what is due. */
  flush(): void {
    clearTimeout(this.#timer);
    const delay = this.delay();
    while (this.#pieces[0] && performance.now() - this.#pieces[0].since >= delay) {
      this.to.write(this.#pieces.shift()!.data);
    }
    const [next] = this.#pieces;
    if (!next || delay === Infinity) return;
    this.#timer = setTimeout(() => this.flush(), Math.ceil(next.since + delay - performance.now()));
  }

  drop(): void {
    clearTimeout(this.#timer);
    this.#pieces = [];
  }
}

/**
 * A way to a Redis on which what goes to its replicas can be late, and nothing else. Whatever is on its way when the server dies is lost
 * with it, as it is in the memory of a machine that loses its power.
 */
export class ReplicationGate {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<ReplicaStream>();
  #delay = 0;

  private constructor(private readonly targetPort: number) {
    this.#server = createServer((near) => this.#accept(near));
  }

  static async start(targetPort: number): Promise<ReplicationGate> {
    const gate = new ReplicationGate(targetPort);
    gate.#server.listen(0, '127.0.0.1');
    await once(gate.#server, 'listening');
    return gate;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many replicas there are by this way. */
  get replicas(): number {
    return this.#streams.size;
  }

  /** ms by which replicas lag behind. `Infinity`: they get nothing until this is called again. */
  lag(delay: number): void {
    this.#delay = delay;
    for (const stream of this.#streams) stream.flush();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(near: Socket): void {
    const far = connect(this.targetPort, '127.0.0.1');
    const stream = new ReplicaStream(near, () => this.#delay);
    near.on('data', (request: Buffer) => {
      // A replica, and nobody else, asks for this, once at the beginning.
      if (request.includes('PSYNC')) this.#streams.add(stream);
      far.write(request);
    });
    far.on('data', (reply: Buffer) => {
      if (this.#streams.has(stream)) stream.push(reply);
      else near.write(reply);
    });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        this.#streams.delete(stream);
        stream.drop();
        to.destroy();
      });
    }
  }
}
