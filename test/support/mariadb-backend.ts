import mysql from 'mysql2/promise';
import type { ConformanceHooks } from '../../lib/testing/index.js';
import { MariadbServer } from './mariadb-server.js';
import { proxyFaults } from './proxy-faults.js';
import { TcpProxy } from './tcp-proxy.js';

/** A MariaDB (or MySQL) behind a proxy: what the conformance suite and the fault tests break. */
export class MariadbBackend {
  private constructor(
    readonly proxy: TcpProxy,
    /** `undefined`: the server is that of TEST_MYSQL_URL, and not ours to stop. */
    readonly server: MariadbServer | undefined,
    private readonly target: URL,
  ) {}

  static async start(): Promise<MariadbBackend> {
    const foreign = process.env['TEST_MYSQL_URL'];
    const server = foreign ? undefined : await MariadbServer.start();
    const target = new URL(server?.url ?? foreign!);
    return new MariadbBackend(await TcpProxy.start(Number(target.port || 3306), target.hostname), server, target);
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

  /** @param table what the store's tables are called */
  hooks(table: string): ConformanceHooks {
    const { server } = this;
    return {
      ...proxyFaults(this.proxy, this.server),
      loseData: server
        ? async () => {
            await server.restart();
            await this.dropTables(table);
          }
        : 'not applicable: the server of TEST_MYSQL_URL is not ours to restart',
    };
  }

  async dropTables(table: string): Promise<void> {
    const connection = await mysql.createConnection(this.directUrl);
    const names = ['', '_waiter', '_fence', '_row', '_hold', '_named'].map((suffix) => `\`${table}${suffix}\``);
    await connection.query(`DROP TABLE IF EXISTS ${names.join(', ')}`);
    await connection.end();
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.server?.stop();
  }
}
