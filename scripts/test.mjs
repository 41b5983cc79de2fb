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

// Client libraries whose servers are killed while they connect may leave sockets behind, which must not keep a run from ending.
const conformance = '/integration/stores/[a-z-]+\\.spec\\.ts$';
const others = '/integration/stores/[^/]+\\.[^/]+\\.spec\\.ts$';

// They wait for most of the time, and for nothing that is soon over.
headline('integration: the contract on every store');
const sideBySide = ['--maxWorkers=2', '--forceExit', `--testPathIgnorePatterns=${others}`];
results.push(await jest(['integration/stores'], [...sideBySide, ...args]));

// These start processes of their own and measure time: side by side they would disturb each other.
headline('integration, faults');
const oneByOne = ['--runInBand', '--forceExit', `--testPathIgnorePatterns=${conformance}`];
results.push(await jest(['integration', 'faults'], [...oneByOne, ...args]));

conclude(results);
