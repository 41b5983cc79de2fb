// Packs the library and uses the tarball as others would: run, resolved, type-checked and tested outside this repository.
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cleanUp, onEnd } from './support/cleanup.mjs';
import { ensureBuild, ensureDependencies } from './support/ensure.mjs';
import { readOptions } from './support/options.mjs';
import { installNest, installRunners, pack } from './support/package/install.mjs';
import { NESTS, NODES } from './support/package/matrix.mjs';
import { installNode } from './support/package/nodes.mjs';
import { Report } from './support/package/report.mjs';
import { runnerCells } from './support/package/runner-cells.mjs';
import { runtimeCells } from './support/package/runtime-cells.mjs';
import { tarballCells } from './support/package/tarball-cells.mjs';
import { typeCells } from './support/package/type-cells.mjs';

const usage = `npm run test:package -- [--only <text>] [--keep]

  --only <text>  the cells whose name has this text, as in 'Types: node10' or 'Nest 12, Vitest, Node 24'
  --keep         leave what was installed where it is, to look into a failure`;

const { only, keep } = readOptions(usage, { only: { type: 'string' }, keep: { type: 'boolean' } });
const start = performance.now();
const seconds = () => Math.round((performance.now() - start) / 1000);

await ensureDependencies();
await ensureBuild();

// Where the path is a link (macOS), Node and the test runners disagree about whose file it is.
const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'lock-package-')));
if (!keep) onEnd(() => rmSync(temporary, { recursive: true, force: true }));

const report = new Report(only);
const problems = [];

/** What cells need, made once, when the first of them asks. All are made side by side: they wait for the network. */
function step(name, work) {
  let result;
  return () => (result ??= take(name, work));
}

async function take(name, work) {
  try {
    const result = await work();
    console.log(`${name} (after ${seconds()} s)`);
    return result;
  } catch (error) {
    console.error(`\n${name}: ${error.message}\n`);
    problems.push(name);
    throw error;
  }
}

async function tree(nest) {
  const folder = join(temporary, nest.folder);
  await installNest(folder, nest, await tarball());
  cpSync(fileURLToPath(new URL('support/package/consumers', import.meta.url)), join(folder, 'consumers'), {
    recursive: true,
  });
  return folder;
}

async function node(major) {
  const installed = await installNode(join(temporary, 'nodes', major), major);
  report.titleColumn(`Node ${major}`, installed.title);
  return installed;
}

const tarball = step('packed', () => pack(temporary));
const runners = step('installed: test runners', () => installRunners(temporary).then(() => temporary));
const nodes = Object.fromEntries(NODES.map((major) => [major, step(`installed: Node ${major}`, () => node(major))]));
const trees = Object.fromEntries(NESTS.map((nest) => [nest.folder, step(`installed: ${nest.name}`, () => tree(nest))]));

tarballCells(report, tarball);
typeCells(report, trees);
runtimeCells(report, trees, nodes);
runnerCells(report, trees, nodes, runners);
await report.done();

report.print();
const failures = [...problems, ...report.failed];
if (keep) console.log(`\nKept: ${temporary}`);
await cleanUp();
console.log(`\nIt took ${seconds()} s.`);
console.log(failures.length > 0 ? `package failed:\n  ${failures.join('\n  ')}` : 'package passed');
process.exitCode = failures.length > 0 ? 1 : 0;
