import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './redis-server.js';
import { ServerProcess } from './server-process.js';

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
  #process: ServerProcess | undefined;

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
    this.#process = new ServerProcess('mariadbd', [
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
    ]);
    await this.#process.until((output) => /ready for connections/.test(output));
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
