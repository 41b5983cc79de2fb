import { join } from 'node:path';
import { output } from './command.mjs';
import { unlessAlone } from './control.mjs';
import { NESTS, NODES } from './matrix.mjs';

const vm = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

/** A consumer's tests with the store in memory, in the runners that Nest's users have. */
export function runnerCells(report, trees, nodes, runners) {
  for (const nest of NESTS) {
    for (const major of NODES) {
      const cell = (row, work) => {
        const place = { table: 'Test runners', row: `${nest.name}, ${row}`, column: `Node ${major}` };
        return report.cell(place, [trees[nest.folder], nodes[major], runners], work);
      };
      cell('Jest, CJS', (tree, node, folder) => jestCjs(nest, (...args) => jest(folder, tree, node, ...args)));
      cell('Jest, ESM', (tree, node, folder) => jest(folder, tree, node, 'jest.spec.mjs', vm));
      cell('Vitest', (tree, node, folder) =>
        output(node.path, [join(folder, 'node_modules/vitest/vitest.mjs'), 'run'], { cwd: join(tree, 'consumers') }),
      );
    }
  }
}

async function jestCjs({ esmOnly }, run) {
  if (!esmOnly) return run('jest.spec.cjs');
  // With this flag, and from Node 24.9 on, Jest can require ESM.
  const control = () => run('jest-nest-only.spec.cjs', vm);
  const reason = 'Nest 12 is ESM only: Jest can require it from Node 24.9 on.';
  await unlessAlone(control, reason, () => run('jest.spec.cjs', vm));
}

function jest(folder, tree, { path, title }, file, flags = []) {
  // One cache for each cell: they run side by side.
  const cache = join(tree, 'jest-caches', `${title} ${file}`);
  const args = ['--config', 'jest.config.json', '--cacheDirectory', cache, '--runInBand', '--runTestsByPath', file];
  return output(path, [...flags, join(folder, 'node_modules/jest/bin/jest.js'), ...args], {
    cwd: join(tree, 'consumers'),
  });
}
