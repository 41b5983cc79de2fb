import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './redis-server.js';

export interface ZookeeperServerOptions {
  /** Further lines of the configuration. */
  readonly config?: readonly string[];
  /** Further properties of the Java machine, such as `-Dname=value`. */
  readonly properties?: readonly string[];
  /** Its place in an ensemble, in which its address and everybody's is. Default: it is alone. */
  readonly member?: { readonly id: number; readonly port: number; readonly servers: readonly string[] };
}

/** ms. A session is two of them long at the least. */
export const TICK_TIME = 500;

const JAR = '/usr/share/java/zookeeper.jar';
const START_LIMIT = 30_000;

/** A ZooKeeper server of one's own, on a free port, in a temporary folder. */
export class ZookeeperServer {
  #process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    readonly folder: string,
    private readonly options: ZookeeperServerOptions,
  ) {}

  static async start(options: ZookeeperServerOptions = {}): Promise<ZookeeperServer> {
    const server = await ZookeeperServer.prepare(options);
    await server.run();
    return server;
  }

  static async prepare(options: ZookeeperServerOptions = {}): Promise<ZookeeperServer> {
    const folder = await mkdtemp(join(tmpdir(), 'zookeeper-test-'));
    const server = new ZookeeperServer(options.member?.port ?? (await freePort()), folder, options);
    await server.#configure();
    return server;
  }

  get url(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts it again, on the same port and with its data, after {@link kill}. */
  async run(): Promise<void> {
    const output = this.launch();
    const end = performance.now() + START_LIMIT;
    while (!/^Mode: (standalone|leader|follower)/m.test(await this.ask('srvr').catch(() => ''))) {
      if (this.#process?.exitCode !== null || performance.now() > end) {
        await this.kill();
        throw new Error(`zookeeper did not start: is it installed?\n${output()}`);
      }
      await sleep(20);
    }
  }

  /** Starts the process without waiting for it: alone, a member of an ensemble does not become ready. */
  launch(): () => string {
    const { properties = [] } = this.options;
    // Little memory, and quick to start. What is written need not be on the disk: the machine outlives the test.
    const machine = ['-Xmx128m', '-Xshare:auto', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
    const quick = ['-Dzookeeper.forceSync=no', '-Dznode.container.checkIntervalMs=60000'];
    const args = [...machine, ...quick, ...properties, '-cp', JAR, this.#main, join(this.folder, 'zoo.cfg')];
    const started = spawn('java', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = started;
    // A test that ends in the middle leaves no server behind.
    const end = (): void => void started.kill('SIGKILL');
    process.once('exit', end);
    started.once('exit', () => process.off('exit', end));
    started.once('error', () => undefined);
    let output = '';
    started.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    started.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return () => output;
  }

  /** What it answers to one of its four-letter words. */
  async ask(word: string): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    let answer = '';
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.end(word);
    await once(socket, 'close');
    return answer;
  }

  /** Freezes it: connections stay, nothing is answered. */
  async pause(): Promise<void> {
    this.#process?.kill('SIGSTOP');
    // The threads of a Java machine stop one by one, and any that runs on may still answer.
    while (this.#runs()) await sleep(1);
  }

  #runs(): boolean {
    const tasks = `/proc/${this.pid}/task`;
    if (!existsSync(tasks)) return false;
    return readdirSync(tasks).some((task) => !/^.*\) T/.test(readFileSync(join(tasks, task, 'stat'), 'utf8')));
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

  /** A new process on the same port, without its data. */
  async restartEmpty(): Promise<void> {
    await this.kill();
    await rm(join(this.folder, 'data'), { recursive: true, force: true });
    await this.#configure();
    await this.run();
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  get #main(): string {
    return 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
  }

  async #configure(): Promise<void> {
    const { config = [], member } = this.options;
    const data = join(this.folder, 'data');
    const lines = [
      `tickTime=${TICK_TIME}`,
      `dataDir=${data}`,
      `clientPort=${this.port}`,
      'clientPortAddress=127.0.0.1',
      'admin.enableServer=false',
      'maxClientCnxns=0',
      '4lw.commands.whitelist=*',
      'preAllocSize=1024',
      ...(member ? ['initLimit=10', 'syncLimit=4', ...member.servers] : []),
      ...config,
    ];
    await mkdir(data, { recursive: true });
    await writeFile(join(this.folder, 'zoo.cfg'), lines.join('\n'));
    if (member) await writeFile(join(data, 'myid'), String(member.id));
  }
}
