// Usage: npm run test:store -- <name>[:<variant>] [<jest arguments>], e.g. redis, redis:ioredis5, redis:cluster:redis or postgres:row
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuild, ensureDependencies, ensureServer } from './support/ensure.mjs';
import { conclude, jest } from './support/jest.mjs';
import { fail, root } from './support/run.mjs';

const neededServers = {
  redis: ['redis-server'],
  redlock: ['redis-server'],
  postgres: ['postgres', 'pgbouncer'],
  mysql: ['mariadbd'],
  etcd: ['etcd', 'etcdctl'],
  zookeeper: ['zookeeper'],
};

const folder = join(root, 'test/integration/stores');
const names = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.spec.ts'))
  .map((file) => file.slice(0, -'.spec.ts'.length))
  .sort();

const [argument = '', ...args] = process.argv.slice(2);
const [first, second, third] = argument.split(':');
// `redis:cluster` has a file of its own.
const apart = names.includes(`${first}-${second}`);
const name = apart ? `${first}-${second}` : first;
const variant = apart ? third : second;
if (!names.includes(name)) {
  const problem = name ? `There is no store test named "${name}".` : 'Name the store to test.';
  fail(`${problem} Known: ${names.join(', ') || '(none)'}\nUsage: npm run test:store -- <name>[:<variant>]`);
}

await ensureDependencies();
await ensureBuild();
for (const server of neededServers[name.replace(/[-.].*/, '')] ?? []) await ensureServer(server);

const file = join('test/integration/stores', `${name}.spec.ts`);
const env = variant ? { STORE_VARIANT: variant } : {};
conclude([await jest(['integration/stores'], ['--runInBand', '--forceExit', '--runTestsByPath', file, ...args], env)]);
