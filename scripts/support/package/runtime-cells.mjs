import { join } from 'node:path';
import { output } from './command.mjs';
import { unlessAlone } from './control.mjs';
import { NESTS, NODES, OPTIONAL_PEERS, SUBPATHS } from './matrix.mjs';

const withoutPeers = { subpaths: SUBPATHS, peers: OPTIONAL_PEERS };

/** What each tree does on each Node: `row` and the work, which gets a way to run a file of consumers/. */
const uses = [
  ['ESM', (node) => node('application.mjs')],
  ['CJS', (node) => node('application.cjs')],
  [
    'every subpath, no peer',
    async (node) => {
      await node('import-all.mjs', withoutPeers);
      await node('require-all.cjs', withoutPeers);
    },
  ],
  ['import = require', (node) => node('one-class.mjs', { subpaths: SUBPATHS })],
  ['errors of both builds', (node, paths) => node('two-builds.mjs', { paths })],
];

// Switches `module-sync` off as well. So it is on every Node before 20.19 and 22.12.
const withoutRequireEsm = ['--no-experimental-require-module'];

export function runtimeCells(report, trees, nodes) {
  for (const nest of NESTS) {
    for (const major of NODES) {
      const cell = (row, work) => {
        const place = { table: 'Runs', row: `${nest.name}, ${row}`, column: `Node ${major}` };
        return report.cell(place, [trees[nest.folder], nodes[major]], work);
      };
      for (const [row, work] of uses) {
        cell(row, (tree, { path }) => work((...args) => consume(path, tree, ...args), builds(tree)));
      }
      cell('no require(esm)', (tree, { path }) => twoClasses(nest, (...args) => consume(path, tree, ...args)));
    }
  }
}

/** Then `import` and `require` give different classes. That must work as far as an application can need it. */
async function twoClasses({ esmOnly }, node) {
  const attempt = async () => {
    await node('application.cjs', {}, withoutRequireEsm);
    await node('require-all.cjs', withoutPeers, withoutRequireEsm);
    await node('two-builds.mjs', {}, withoutRequireEsm);
  };
  await node('application.mjs', {}, withoutRequireEsm);
  if (!esmOnly) return attempt();
  const control = () => node('nest-only.cjs', {}, withoutRequireEsm);
  await unlessAlone(control, 'Nest 12 is ESM only: nothing that needs it can be required there.', attempt);
}

function consume(program, tree, file, data = {}, flags = []) {
  return output(program, [...flags, file, JSON.stringify(data)], { cwd: join(tree, 'consumers') });
}

const builds = (tree) => {
  const dist = join(tree, 'node_modules/nestjs-distributed-lock/dist');
  return { esm: join(dist, 'esm/index.js'), cjs: join(dist, 'cjs/index.js') };
};
