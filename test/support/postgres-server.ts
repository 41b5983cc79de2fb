import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './redis-server.js';
import { ServerProcess } from './server-process.js';

const run = promisify(execFile);
const USER = 'postgres';

/** Where Debian, Homebrew and others keep the programs of the server: not always on the PATH. */
export function postgresProgram(name: string): string {
  const roots = ['/usr/lib/postgresql', '/usr/pgsql'];
  const versions = roots.flatMap((root) =>
    existsSync(root) ? readdirSync(root).map((version) => join(root, version)) : [],
  );
  const newestFirst = versions.sort((a, b) => b.localeCompare(a, undefined, { numeric: true }));
  const folders = [
    ...newestFirst.map((version) => join(version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (!found) throw new Error(`${name} was not found: is PostgreSQL installed?`);
  return found;
}

/** The user to run a server as that refuses to be run by root. */
export function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === USER);
  if (!entry) throw new Error(`There is no user ${USER} to run the server as`);
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

/** A folder for a server's data that its user may write. */
export function serverFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const { uid, gid } = serverUser();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** A PostgreSQL of one's own, on a free port, in a temporary folder. */
export class PostgresServer {
  #process: ServerProcess | undefined;

  private constructor(
    readonly port: number,
    readonly folder: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const folder = serverFolder('postgres-test-');
    const options = ['-D', folder, '-U', USER, '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C'];
    await run(postgresProgram('initdb'), options, { ...serverUser(), cwd: folder, timeout: 60_000 });
    const server = new PostgresServer(await freePort(), folder, settings);
    await server.run();
    return server;
  }

  get url(): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts it again, on the same port, after {@link kill}. */
  async run(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '300',
      shared_buffers: '32MB',
      autovacuum_naptime: '10s',
      ...this.settings,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#process = new ServerProcess(
      postgresProgram('postgres'),
      ['-D', this.folder, '-p', String(this.port), ...options],
      { ...serverUser(), cwd: this.folder, detached: true, pidsOf: withChildren },
    );
    await this.#process.until((output) => /ready to accept connections/.test(output));
  }

  /** Freezes the server and all of its sessions: connections stay, nothing is answered. */
  async pause(): Promise<void> {
    await this.#process?.pause();
  }

  resume(): void {
    this.#process?.resume();
  }

  /** Ends it at once, as a crash of the machine would. */
  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.run();
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

// Each session is a process group of its own, so that the group of the first reaches only that one.
function withChildren(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [parent, ...pids.filter((pid) => parentOf(pid) === parent).map(Number)];
}

function parentOf(pid: string): number | undefined {
  try {
    // The name, in brackets, may hold anything.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop()?.split(' ')[1]);
  } catch {
    return undefined;
  }
}

/** The server that TEST_POSTGRES_URL names, or else one of one's own. `stop` ends only the latter. */
export async function sharedPostgres(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const url = process.env['TEST_POSTGRES_URL'];
  if (url) return { url, stop: async () => undefined };
  const server = await PostgresServer.start();
  return { url: server.url, stop: () => server.stop() };
}
