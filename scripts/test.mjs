import { ensureBuild, ensureDependencies, ensureServer } from './support/ensure.mjs';
import { conclude, jest } from './support/jest.mjs';
import { headline } from './support/run.mjs';
import { typeTests } from './support/type-tests.mjs';

await ensureDependencies();
await ensureBuild();
const servers = ['redis-server', 'postgres', 'pgbouncer', 'mariadbd', 'etcd', 'etcdctl', 'zookeeper'];
for (const server of servers) await ensureServer(server);

const args = process.argv.slice(2);
const results = [];

headline('types');
const code = await typeTests();
results.push({ code, passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 });

headline('unit, e2e');
results.push(await jest(['unit', 'e2e'], ['--maxWorkers=2', ...args]));

// These start processes of their own and measure time: side by side they would disturb each other. Client libraries whose servers
// are killed while they connect may leave sockets behind, which must not keep the run from ending.
headline('integration, faults');
results.push(await jest(['integration', 'faults'], ['--runInBand', '--forceExit', ...args]));

conclude(results);
