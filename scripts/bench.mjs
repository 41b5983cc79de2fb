// What a lock costs, alone and beside others. Figures are of the machine they were taken on: compare ratios.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { benchmarks, serversOf } from '../benchmark/index.mjs';
import { cleanUp, onEnd } from './support/cleanup.mjs';
import { readOptions } from './support/options.mjs';
import { prepare } from './support/prepare.mjs';
import { place, placement } from './support/placement.mjs';
import { root } from './support/run.mjs';
import { SERVERS } from './support/servers.mjs';

const usage = `Usage: npm run bench [-- options]

Options:
  --only <a,b>    only these of: ${benchmarks.join(', ')}
  --json <file>   writes all figures to a file as well
  --help          this text`;

const options = readOptions(usage, { only: { type: 'string' }, json: { type: 'string' } }, ({ only }) => {
  const unknown = only?.split(',').filter((name) => !benchmarks.includes(name)) ?? [];
  if (unknown.length === 0) return undefined;
  return `There is no benchmark "${unknown[0]}". There are: ${benchmarks.join(', ')}.`;
});

async function main() {
  const wanted = benchmarks.filter((name) => options.only?.split(',').includes(name) ?? true);
  const servers = [...new Set(wanted.flatMap((name) => serversOf[name] ?? []))].map((name) => [name, SERVERS[name]]);
  const missing = servers.filter(([, { variable }]) => process.env[variable] === undefined);
  await prepare(...missing.map(([, { program }]) => program));

  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const places = placement();

  const machine = describeMachine();
  console.log(Object.values(machine).join(' · '));
  if (!places)
    console.log(
      'The servers and their callers share processors here: where one call is measured, ratios depend on luck.',
    );
  const results = {};
  for (const name of wanted) {
    const { title, print, oneCaller = false } = await import(`../benchmark/${name}.mjs`);
    const processors = oneCaller ? places : undefined;
    const context = { sqliteFile: join(folder, 'locks.sqlite') };
    for (const server of serversOf[name] ?? []) context[`${server}Url`] = await urlOf(server, oneCaller, processors);
    console.log(`\n== ${title} (${name})\n`);
    results[name] = await runApart(name, context, processors);
    console.log(print(results[name]));
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  const problems = Object.values(results).flatMap(({ problems = [] }) => problems);
  console.log(`\nTook ${seconds} s.`);
  for (const problem of problems) console.error(`PROBLEM ${problem}`);
  if (options.json)
    writeFileSync(options.json, `${JSON.stringify({ machine, seconds, results, problems }, null, 2)}\n`);
  return problems.length === 0 ? 0 : 1;
}

const urls = new Map();

/**
 * The server that the environment names, or a private one: for the cost of a single call one that flushes each commit to the disk, as
 * in production, on processors of its own; where many callers race, one that does not.
 */
async function urlOf(name, oneCaller, processors) {
  const { variable, start } = SERVERS[name];
  const given = process.env[variable];
  if (given !== undefined) return given;
  const key = `${name} ${oneCaller}`;
  if (!urls.has(key)) {
    // Servers run where the process runs that starts them.
    if (processors) place(process.pid, processors.servers);
    urls.set(key, await start({ durable: oneCaller }));
    if (processors) place(process.pid, processors.all);
  }
  return urls.get(key);
}

/** Each benchmark has a process to itself, so that none finds the heap and the compiled code of another. */
async function runApart(name, context, processors) {
  const child = fork(join(root, 'benchmark/support/child.mjs'), {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  onEnd(() => child.kill());
  if (processors) place(child.pid, processors.client);
  child.send({ file: new URL(`../benchmark/${name}.mjs`, import.meta.url).href, context });
  const ended = once(child, 'exit').then(([code]) => ({ error: `it ended with ${code}` }));
  const { result, error } = await Promise.race([once(child, 'message').then(([message]) => message), ended]);
  if (error) throw new Error(`${name}: ${error}`);
  return result;
}

function describeMachine() {
  const installed = (name) =>
    JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
  const processors = cpus();
  return {
    processor: `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown processor'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    system: `${type()} ${release()}`,
    node: `Node ${process.version}`,
    packages: ['@nestjs/core', 'ioredis', 'redlock', 'redis-semaphore', 'better-sqlite3', 'pg', 'mysql2', 'etcd3']
      .map((name) => `${name} ${installed(name)}`)
      .join(', '),
  };
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`The benchmark failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}
