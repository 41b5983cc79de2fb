import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './redis-server.js';
import { ServerProcess } from './server-process.js';

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

/** A ZooKeeper server of one's own, on a free port, in a temporary folder. */
export class ZookeeperServer {
  #process: ServerProcess | undefined;

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
    this.launch();
    await this.#process?.until(async () =>
      /^Mode: (standalone|leader|follower)/m.test(await this.ask('srvr').catch(() => '')),
    );
  }

  /** Starts the process without waiting for it: alone, a member of an ensemble does not become ready. */
  launch(): void {
    const { properties = [] } = this.options;
    // Little memory, and quick to start. What is written need not be on the disk: the machine outlives the test.
    const machine = ['-Xmx128m', '-Xshare:auto', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
    const quick = ['-Dzookeeper.forceSync=no', '-Dznode.container.checkIntervalMs=60000'];
    const args = [...machine, ...quick, ...properties, '-cp', JAR, this.#main, join(this.folder, 'zoo.cfg')];
    this.#process = new ServerProcess('java', args);
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
    await this.#process?.pause();
  }

  resume(): void {
    this.#process?.resume();
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    await this.#process?.kill();
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
