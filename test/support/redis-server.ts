import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerProcess } from './server-process.js';

export interface RedisServerOptions {
  /** Further arguments, such as `['--requirepass', 'secret']`. */
  readonly args?: readonly string[];
  /** Keeps the data over a restart. */
  readonly persist?: boolean;
  /** Files of a certificate: the server then speaks TLS only. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** A redis-server of one's own, on a free port, in a temporary folder. */
export class RedisServer {
  #process: ServerProcess | undefined;

  private constructor(
    readonly port: number,
    readonly folder: string,
    private readonly options: RedisServerOptions,
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-test-'));
    const server = new RedisServer(await freePort(), folder, options);
    await server.run();
    return server;
  }

  get url(): string {
    return `${this.options.tls ? 'rediss' : 'redis'}://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts it again, on the same port, after {@link kill}. */
  async run(): Promise<void> {
    const { args = [], persist = false } = this.options;
    const data = persist ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--save', '', '--appendonly', 'no'];
    const all = [...this.#listening(), '--bind', '127.0.0.1', '--dir', this.folder, ...data, ...args];
    this.#process = new ServerProcess('redis-server', all);
    await this.#process.until((output) => /Ready to accept connections/.test(output));
  }

  #listening(): string[] {
    const { tls } = this.options;
    if (!tls) return ['--port', String(this.port)];
    const files = ['--tls-key-file', tls.key, '--tls-cert-file', tls.cert, '--tls-ca-cert-file', tls.cert];
    return ['--port', '0', '--tls-port', String(this.port), '--tls-auth-clients', 'no', ...files];
  }

  /** Freezes it: connections stay, nothing is answered. */
  async pause(): Promise<void> {
    await this.#process?.pause();
  }

  resume(): void {
    this.#process?.resume();
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** A new process on the same port. Without `persist` its data are gone. */
  async restart(): Promise<void> {
    await this.kill();
    await this.run();
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Whether somebody listens on `port`. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The server that TEST_REDIS_URL names, or else one of one's own. `stop` ends only the latter. */
export async function sharedRedis(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const url = process.env['TEST_REDIS_URL'];
  if (url) return { url, stop: async () => undefined };
  const server = await RedisServer.start();
  return { url: server.url, stop: () => server.stop() };
}
