// Starts a private server for a script (postgres or mysql), prints its URL, and stops it when its input ends.
import { once } from 'node:events';
import { MariadbServer } from './mariadb-server.js';
import { PostgresServer } from './postgres-server.js';

const starters: Record<string, () => Promise<{ readonly url: string; stop(): Promise<void> }>> = {
  postgres: () => PostgresServer.start(),
  mysql: () => MariadbServer.start(),
};

const server = await starters[process.argv[2] ?? '']?.();
if (server === undefined) throw new Error(`There is no server "${process.argv[2]}".`);
console.log(server.url);
process.stdin.resume();
await once(process.stdin, 'end');
await server.stop();
process.exit();
