import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { serverFolder, serverUser } from './postgres-server.js';
import { freePort, isListening } from './redis-server.js';
import { ServerProcess } from './server-process.js';

export interface PgBouncerOptions {
  /** The server behind it. */
  readonly target: string;
  readonly mode: 'transaction' | 'session';
  /** How many connections to the server it keeps at most. */
  readonly poolSize?: number;
}

/** A pgbouncer of one's own, on a free port. */
export class PgBouncer {
  private constructor(
    private readonly running: ServerProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  static async start({ target, mode, poolSize = 20 }: PgBouncerOptions): Promise<PgBouncer> {
    const { hostname, port: targetPort, username, pathname } = new URL(target);
    const folder = serverFolder('pgbouncer-test-');
    const port = await freePort();
    const users = join(folder, 'users.txt');
    writeFileSync(users, `"${username}" ""\n`);
    const config = join(folder, 'pgbouncer.ini');
    writeFileSync(
      config,
      [
        '[databases]',
        `* = host=${hostname} port=${targetPort || 5432}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = trust',
        `auth_file = ${users}`,
        `pool_mode = ${mode}`,
        `default_pool_size = ${poolSize}`,
        'max_client_conn = 200',
        'ignore_startup_parameters = extra_float_digits',
      ].join('\n'),
    );
    const running = new ServerProcess('pgbouncer', [config], { ...serverUser(), cwd: folder });
    await running.until(() => isListening(port));
    return new PgBouncer(running, folder, `postgres://${username}@127.0.0.1:${port}${pathname}`);
  }

  async stop(): Promise<void> {
    await this.running.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
