import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './redis-server.js';

/** One sentinel, on a free port, with a configuration of its own, which it goes on writing. */
export class RedisSentinelProcess {
  readonly host = '127.0.0.1';
  #output = '';

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly process: ChildProcess,
  ) {
    process.stdout?.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-20_000)));
  }

  static async start(configuration: readonly string[]): Promise<RedisSentinelProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-sentinel-test-'));
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...configuration, ''].join('\n'));
    const started = spawn('redis-server', [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const end = (): void => void started.kill('SIGKILL');
    process.once('exit', end);
    started.once('exit', () => process.off('exit', end));
    started.once('error', () => undefined);
    return new RedisSentinelProcess(port, folder, started);
  }

  /** The last of what it has said. */
  get log(): string {
    return this.#output;
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const exited = once(this.process, 'exit');
      this.process.kill('SIGKILL');
      await exited;
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}
