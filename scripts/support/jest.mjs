import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, run } from './run.mjs';

/**
 * Runs jest on some folders of test/ (those that exist) with its normal output.
 *
 * @returns its exit code and how many tests passed, failed and were skipped
 */
export async function jest(folders, args = [], env = {}) {
  const roots = folders.map((folder) => join('test', folder)).filter((folder) => existsSync(join(root, folder)));
  const result = { code: 0, passed: 0, failed: 0, skipped: 0 };
  if (roots.length === 0) return result;

  const temporary = mkdtempSync(join(tmpdir(), 'lock-tests-'));
  const report = join(temporary, 'report.json');
  try {
    result.code = await run(
      process.execPath,
      [
        // Silences one line about vm modules in each worker.
        '--disable-warning=ExperimentalWarning',
        '--experimental-vm-modules',
        'node_modules/jest/bin/jest.js',
        ...roots.map((folder) => `--roots=<rootDir>/${folder}`),
        '--passWithNoTests',
        '--json',
        `--outputFile=${report}`,
        ...args,
      ],
      { env },
    );
    if (existsSync(report)) {
      const counts = JSON.parse(readFileSync(report, 'utf8'));
      result.passed = counts.numPassedTests;
      // A file that cannot even be loaded has no tests to count as failed.
      result.failed = counts.numFailedTests + counts.numRuntimeErrorTestSuites;
      result.skipped = counts.numPendingTests + counts.numTodoTests;
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return result;
}

/** Prints the sum of some runs as the last line and sets the exit code. */
export function conclude(results) {
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  const passed = sum('passed');
  const failed = sum('failed');
  const skipped = sum('skipped');
  if (passed + failed === 0) console.error('No test ran.');
  // A skipped test in CI is a hole that nobody sees.
  const holes = Boolean(process.env.CI) && skipped > 0;
  if (holes) console.error('Tests were skipped in CI.');
  const ok = passed > 0 && failed === 0 && !holes && results.every(({ code }) => code === 0);
  process.exitCode = ok ? 0 : 1;
  console.log(`\nTests: ${passed} passed, ${failed} failed, ${skipped} skipped`);
}
