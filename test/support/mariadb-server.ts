import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './redis-server.js';

const run = promisify(execFile);

export interface MariadbServerOptions {
  /** Further arguments, such as `['--innodb-flush-log-at-trx-commit=1']`. */
  readonly args?: readonly string[];
}

const LOG_SIZE = '--innodb-log-file-size=16M';
// mariadbd refuses to run as root unless it is told so.
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : [];

/** A mariadbd of one's own, on a free port, in a temporary folder. */
export class MariadbServer {
  #process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    readonly folder: string,
    private readonly options: MariadbServerOptions,
  ) {}

  static async start(options: MariadbServerOptions = {}): Promise<MariadbServer> {
    const folder = await mkdtemp(join(tmpdir(), 'mariadb-test-'));
    const server = new MariadbServer(await freePort(), folder, options);
    try {
      await server.#install();
      await server.run();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}/test`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts it again, on the same port and with the same data, after {@link kill}. */
  async run(): Promise<void> {
    const started = spawn(
      'mariadbd',
      [
        '--no-defaults',
        `--datadir=${join(this.folder, 'data')}`,
        `--port=${this.port}`,
        '--bind-address=127.0.0.1',
        `--socket=${join(this.folder, 'socket')}`,
        `--pid-file=${join(this.folder, 'pid')}`,
        '--skip-name-resolve',
        '--skip-log-bin',
        '--innodb-buffer-pool-size=32M',
        LOG_SIZE,
        // Survives a killed server, which is all that tests do to it; a flush to the disk at each commit is not tested.
        '--innodb-flush-log-at-trx-commit=2',
        '--performance-schema=OFF',
        ...AS_ROOT,
        ...(this.options.args ?? []),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#process = started;
    // A test that ends in the middle leaves no server behind.
    const end = (): void => void started.kill('SIGKILL');
    process.once('exit', end);
    started.once('exit', () => process.off('exit', end));
    let output = '';
    started.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    started.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const failed = new Promise<never>((_, reject) => {
      started.once('error', (cause) => reject(new Error('mariadbd cannot be run: is it installed?', { cause })));
      started.once('exit', (code) => reject(new Error(`mariadbd ended with code ${code}:\n${output}`)));
    });
    failed.catch(() => undefined);
    while (!/ready for connections/.test(output)) await Promise.race([failed, sleep(10)]);
  }

  /** Freezes it: connections stay, nothing is answered. */
  async pause(): Promise<void> {
    this.#process?.kill('SIGSTOP');
    // Its threads stop one by one, and any that runs on may still answer.
    while (!this.#stopped()) await sleep(1);
  }

  #stopped(): boolean {
    const tasks = `/proc/${this.pid}/task`;
    if (!existsSync(tasks)) return true;
    const states = readdirSync(tasks).map((task) => readFileSync(join(tasks, task, 'stat'), 'utf8'));
    return states.every((stat) => /^.*\) T/.test(stat));
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

  /** A new process on the same port, with the data of the old one. */
  async restart(): Promise<void> {
    await this.kill();
    await this.run();
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #install(): Promise<void> {
    const data = `--datadir=${join(this.folder, 'data')}`;
    // A log that is as small as the server's own will be: the default is 96 MB to write.
    const args = ['--no-defaults', data, '--auth-root-authentication-method=normal', LOG_SIZE, ...AS_ROOT];
    await run('mariadb-install-db', args, { timeout: 60_000 });
  }
}

/** The server that TEST_MYSQL_URL names, or else one of one's own. `stop` ends only the latter. */
export async function sharedMariadb(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const url = process.env['TEST_MYSQL_URL'];
  if (url) return { url, stop: async () => undefined };
  const server = await MariadbServer.start();
  return { url: server.url, stop: () => server.stop() };
}
