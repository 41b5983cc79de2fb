import type { ConformanceHooks } from '../../lib/testing/index.js';
import { EtcdServer } from './etcd-server.js';
import { proxyFaults } from './proxy-faults.js';
import { TcpProxy } from './tcp-proxy.js';

/** An etcd behind a proxy: what the conformance suite and the fault tests break. */
export class EtcdBackend {
  private constructor(
    readonly proxy: TcpProxy,
    /** `undefined`: the server is that of TEST_ETCD_URL, and not ours to stop. */
    readonly server: EtcdServer | undefined,
    private readonly target: URL,
  ) {}

  static async start(): Promise<EtcdBackend> {
    const foreign = process.env['TEST_ETCD_URL'];
    const server = foreign ? undefined : await EtcdServer.start();
    const target = new URL(server?.url ?? foreign!);
    return new EtcdBackend(await TcpProxy.start(Number(target.port || 2379), target.hostname), server, target);
  }

  /** By way of the proxy. */
  get url(): string {
    return `http://127.0.0.1:${this.proxy.port}`;
  }

  /** Past the proxy. */
  get directUrl(): string {
    return this.target.origin;
  }

  hooks(): ConformanceHooks {
    return {
      ...proxyFaults(this.proxy, this.server),
      loseData:
        'not applicable: a cluster of which a majority has lost its data is another cluster, which counts from 1',
    };
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.server?.stop();
  }
}
