import { createClient, type Client } from 'node-zookeeper-client';
import type { ConformanceHooks } from '../../lib/testing/index.js';
import { proxyFaults } from './proxy-faults.js';
import { TcpProxy } from './tcp-proxy.js';
import { ZookeeperServer, type ZookeeperServerOptions } from './zookeeper-server.js';

/** A ZooKeeper behind a proxy: what the conformance suite and the fault tests break. */
export class ZookeeperBackend {
  private constructor(
    readonly proxy: TcpProxy,
    /** `undefined`: the server is that of TEST_ZOOKEEPER_URL, and not ours to stop. */
    readonly server: ZookeeperServer | undefined,
    private readonly target: string,
  ) {}

  static async start(options?: ZookeeperServerOptions): Promise<ZookeeperBackend> {
    const foreign = process.env['TEST_ZOOKEEPER_URL']?.replace(/^zookeeper:\/\//, '');
    const server = foreign ? undefined : await ZookeeperServer.start(options);
    const target = server?.url ?? foreign!;
    const [host = '', port = '2181'] = target.split(/[,/]/)[0]!.split(':');
    return new ZookeeperBackend(await TcpProxy.start(Number(port), host), server, target);
  }

  /** By way of the proxy. */
  get url(): string {
    return `127.0.0.1:${this.proxy.port}`;
  }

  /** Past the proxy. */
  get directUrl(): string {
    return this.target;
  }

  hooks(): ConformanceHooks {
    return {
      ...proxyFaults(this.proxy, this.server),
      loseData: 'not applicable: an ensemble of which a majority has lost its data is another one, which counts from 1',
    };
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.server?.stop();
  }
}

/** A client of the library, connected. */
export async function connectedClient(connectionString: string, options: object = {}): Promise<Client> {
  const client = createClient(connectionString, { sessionTimeout: 10_000, ...options });
  const connected = new Promise<void>((resolve) => client.once('connected', () => resolve()));
  client.connect();
  await connected;
  return client;
}
