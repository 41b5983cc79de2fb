import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cleanUp, onEnd } from './cleanup.mjs';
import { ensureBuild, ensureDependencies, ensureServer } from './ensure.mjs';
import { ensureSampleApp } from './sample-app.mjs';

const self = fileURLToPath(import.meta.url);

const steps = { 'sample-app': ensureSampleApp };
for (const server of ['redis-server', 'postgres', 'mariadbd', 'zookeeper']) steps[server] = () => ensureServer(server);

// With its own client, which the benchmarks compare with.
steps.etcd = () => ensureServer('etcd').then(() => ensureServer('etcdctl'));

/**
 * Installs and builds what is missing, and some of `steps`, in a process whose whole output goes to stderr: stdout
 * belongs to the caller's result. Ends the script when that fails.
 */
export async function prepare(...names) {
  const child = spawn(process.execPath, [self, ...names], { stdio: ['ignore', 2, 2] });
  onEnd(() => child.kill());
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code === 0) return;
  await cleanUp();
  process.exit(1);
}

if (process.argv[1] === self) {
  await ensureDependencies();
  await ensureBuild();
  for (const name of process.argv.slice(2)) await steps[name]();
}
