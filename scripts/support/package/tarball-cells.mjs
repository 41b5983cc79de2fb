import { root } from '../run.mjs';
import { output } from './command.mjs';

const checks = {
  attw: ['@arethetypeswrong/cli/dist/index.js'],
  publint: ['publint/src/cli.js', '--strict'],
};

/** What can be told from the tarball alone. */
export function tarballCells(report, tarball) {
  for (const [row, [file, ...args]] of Object.entries(checks)) {
    report.cell({ table: 'Tarball', row, column: 'result' }, [tarball], (path) =>
      output(process.execPath, [`node_modules/${file}`, ...args, path], { cwd: root }),
    );
  }
}
