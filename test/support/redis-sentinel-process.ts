import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './redis-server.js';
import { ServerProcess } from './server-process.js';

/** One sentinel, on a free port, with a configuration of its own, which it goes on writing. */
export class RedisSentinelProcess {
  readonly host = '127.0.0.1';

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly process: ServerProcess,
  ) {}

  static async start(configuration: readonly string[]): Promise<RedisSentinelProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-sentinel-test-'));
    const port = await freePort();
    const file = join(folder, 'sentinel.conf');
    await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...configuration, ''].join('\n'));
    return new RedisSentinelProcess(port, folder, new ServerProcess('redis-server', [file, '--sentinel']));
  }

  /** The last of what it has said. */
  get log(): string {
    return this.process.output;
  }

  async stop(): Promise<void> {
    await this.process.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
