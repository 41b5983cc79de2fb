import type { ConformanceHooks } from '../../lib/testing/index.js';
import { RedisServer } from './redis-server.js';
import { proxyFaults } from './proxy-faults.js';
import { TcpProxy } from './tcp-proxy.js';

/** A Redis behind a proxy: what the conformance suite and the fault tests break. */
export class RedisBackend {
  private constructor(
    readonly proxy: TcpProxy,
    /** `undefined`: the server is that of TEST_REDIS_URL, and not ours to stop. */
    readonly server: RedisServer | undefined,
    private readonly target: URL,
  ) {}

  static async start(): Promise<RedisBackend> {
    const foreign = process.env['TEST_REDIS_URL'];
    const server = foreign ? undefined : await RedisServer.start();
    const target = new URL(server?.url ?? foreign!);
    return new RedisBackend(await TcpProxy.start(Number(target.port || 6379), target.hostname), server, target);
  }

  /** By way of the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.proxy.port);
    return url.href;
  }

  /** Past the proxy. */
  get directUrl(): string {
    return this.target.href;
  }

  hooks(): ConformanceHooks {
    const { server } = this;
    return {
      ...proxyFaults(this.proxy, this.server),
      loseData: server ? () => server.restart() : 'not applicable: the server of TEST_REDIS_URL is not ours to restart',
    };
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.server?.stop();
  }
}
