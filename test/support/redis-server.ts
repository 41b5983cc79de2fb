import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

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
  #process: ChildProcess | undefined;

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
    const started = spawn('redis-server', all, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = started;
    // A test that ends in the middle leaves no server behind.
    const end = (): void => void started.kill('SIGKILL');
    process.once('exit', end);
    started.once('exit', () => process.off('exit', end));
    let output = '';
    started.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    started.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const failed = new Promise<never>((_, reject) => {
      started.once('error', (cause) => reject(new Error('redis-server cannot be run: is it installed?', { cause })));
      started.once('exit', (code) => reject(new Error(`redis-server ended with code ${code}:\n${output}`)));
    });
    failed.catch(() => undefined);
    while (!/Ready to accept connections/.test(output)) await Promise.race([failed, sleep(10)]);
  }

  #listening(): string[] {
    const { tls } = this.options;
    if (!tls) return ['--port', String(this.port)];
    const files = ['--tls-key-file', tls.key, '--tls-cert-file', tls.cert, '--tls-ca-cert-file', tls.cert];
    return ['--port', '0', '--tls-port', String(this.port), '--tls-auth-clients', 'no', ...files];
  }

  /** Freezes it: connections stay, nothing is answered. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, 'exit');
    running.kill('SIGKILL');
    await exited;
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
