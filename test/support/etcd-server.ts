import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './redis-server.js';
import { ServerProcess } from './server-process.js';

/** Of the servers here; the shortest lease is one and a half of it, in whole seconds. */
export const ELECTION_TIMEOUT = 500;

export interface EtcdServerOptions {
  /** Further arguments, such as `['--auth-token', 'simple']`. */
  readonly args?: readonly string[];
  /** Files of a certificate: clients then have to use TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The members of its cluster, by name. Default: it is alone. */
  readonly peers?: ReadonlyMap<string, string>;
  readonly name?: string;
}

/** An etcd of one's own, on free ports, in a temporary folder. */
export class EtcdServer {
  #process: ServerProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly peerUrl: string,
    readonly folder: string,
    private readonly options: EtcdServerOptions,
  ) {}

  static async start(options: EtcdServerOptions = {}): Promise<EtcdServer> {
    const server = await EtcdServer.prepare(options);
    await server.run();
    return server;
  }

  /** One that is not started yet. */
  static async prepare(options: EtcdServerOptions): Promise<EtcdServer> {
    const memory = '/dev/shm';
    // Without a disk to wait for, where there is such a place.
    const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'etcd-test-'));
    const peerUrl = options.peers?.get(options.name ?? '') ?? `http://127.0.0.1:${await freePort()}`;
    return new EtcdServer(await freePort(), peerUrl, folder, options);
  }

  get url(): string {
    return `${this.options.tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts it again, on the same ports and with its data, after {@link kill}. */
  async run(): Promise<void> {
    const { args = [], tls, name = 'alone', peers = new Map([[name, this.peerUrl]]) } = this.options;
    const cluster = [...peers].map(([member, url]) => `${member}=${url}`).join(',');
    const all = [
      ...['--name', name, '--data-dir', this.folder],
      ...['--listen-client-urls', this.url, '--advertise-client-urls', this.url],
      ...['--listen-peer-urls', this.peerUrl, '--initial-advertise-peer-urls', this.peerUrl],
      ...['--initial-cluster', cluster, '--initial-cluster-token', 'test'],
      ...['--heartbeat-interval', String(ELECTION_TIMEOUT / 10), '--election-timeout', String(ELECTION_TIMEOUT)],
      ...['--logger', 'zap', '--log-level', 'error', '--log-outputs', 'stderr'],
      ...(tls ? ['--cert-file', tls.cert, '--key-file', tls.key] : []),
      ...args,
    ];
    this.#process = new ServerProcess('etcd', all);
    await this.#process.until(() => this.isHealthy());
  }

  /** Whether it has a leader and answers. */
  async isHealthy(): Promise<boolean> {
    const ca = this.options.tls && readFileSync(this.options.tls.cert);
    return new Promise((resolve) => {
      const asked = (ca ? https : http).get(`${this.url}/health`, { timeout: 1_000, ca, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      });
      asked.on('timeout', () => asked.destroy(new Error('it does not answer')));
      asked.on('error', () => resolve(false));
    });
  }

  /** Freezes it: connections stay, nothing is answered. */
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

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The server that TEST_ETCD_URL names, or else one of one's own. `stop` ends only the latter. */
export async function sharedEtcd(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const url = process.env['TEST_ETCD_URL'];
  if (url) return { url, stop: async () => undefined };
  const server = await EtcdServer.start();
  return { url: server.url, stop: () => server.stop() };
}
