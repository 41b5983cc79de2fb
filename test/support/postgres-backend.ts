import pg from 'pg';
import type { ConformanceHooks } from '../../lib/testing/index.js';
import { PostgresServer } from './postgres-server.js';
import { proxyFaults } from './proxy-faults.js';
import { TcpProxy } from './tcp-proxy.js';

/** A PostgreSQL behind a proxy: what the conformance suite and the fault tests break. */
export class PostgresBackend {
  private constructor(
    readonly proxy: TcpProxy,
    /** `undefined`: the server is that of TEST_POSTGRES_URL, and not ours to stop. */
    readonly server: PostgresServer | undefined,
    private readonly target: URL,
  ) {}

  static async start(): Promise<PostgresBackend> {
    const foreign = process.env['TEST_POSTGRES_URL'];
    const server = foreign ? undefined : await PostgresServer.start();
    const target = new URL(server?.url ?? foreign!);
    return new PostgresBackend(await TcpProxy.start(Number(target.port || 5432), target.hostname), server, target);
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

  hooks(tables: readonly string[]): ConformanceHooks {
    return {
      ...proxyFaults(this.proxy, this.server),
      loseData:
        tables.length > 0
          ? () => this.query(tables.map((name) => `DROP ${name};`).join(' ')).then(() => undefined)
          : 'not applicable: a database loses its sessions with its data, and what stands in it is not this mode’s',
    };
  }

  /** Past the proxy, on a connection of its own. */
  async query(text: string, values: unknown[] = []): Promise<Record<string, never>[]> {
    const client = new pg.Client({ connectionString: this.directUrl });
    await client.connect();
    try {
      return (await (values.length > 0 ? client.query(text, values) : client.query(text))).rows as never;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.server?.stop();
  }
}
