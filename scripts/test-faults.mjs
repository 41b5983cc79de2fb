// Usage: npm run test:faults [-- --seed <n>] [--seconds <n>]
import { parseArgs } from 'node:util';
import { ensureBuild, ensureDependencies, ensureServer } from './support/ensure.mjs';
import { conclude, jest } from './support/jest.mjs';
import { fail } from './support/run.mjs';

const env = {};
try {
  const { values } = parseArgs({ options: { seed: { type: 'string' }, seconds: { type: 'string' } } });
  for (const [option, value] of Object.entries(values)) {
    if (!/^\d+$/.test(value)) throw new Error(`--${option} must be a whole number, not "${value}".`);
    env[`FAULT_${option.toUpperCase()}`] = value;
  }
} catch (error) {
  fail(`${error.message}\nUsage: npm run test:faults [-- --seed <n>] [--seconds <n>]`);
}

await ensureDependencies();
await ensureBuild();
for (const server of ['redis-server', 'postgres', 'mariadbd', 'etcd', 'zookeeper']) await ensureServer(server);
conclude([await jest(['faults'], ['--runInBand'], env)]);
