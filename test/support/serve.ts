// `serve.ts <name> [durable]`: starts a private server for a script, prints its URL, and stops it when its input ends.
import { once } from 'node:events';
import { EtcdServer } from './etcd-server.js';
import { MariadbServer } from './mariadb-server.js';
import { PostgresServer } from './postgres-server.js';
import { ZookeeperServer } from './zookeeper-server.js';

// Whether a commit is flushed to the disk.
const durable = process.argv[3] === 'durable';

const starters: Record<string, () => Promise<{ readonly url: string; stop(): Promise<void> }>> = {
  postgres: () =>
    PostgresServer.start(durable ? { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' } : {}),
  mysql: () => MariadbServer.start(durable ? { args: ['--innodb-flush-log-at-trx-commit=1'] } : {}),
  etcd: () => EtcdServer.start(),
  zookeeper: async () => {
    const server = await ZookeeperServer.start();
    return { url: `zookeeper://${server.url}`, stop: () => server.stop() };
  },
};

const server = await starters[process.argv[2] ?? '']?.();
if (server === undefined) throw new Error(`There is no server "${process.argv[2]}".`);
console.log(server.url);
process.stdin.resume();
await once(process.stdin, 'end');
await server.stop();
process.exit();
