import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, runBin, tsc } from './run.mjs';

/** Compiles test/types; each `@ts-expect-error` there is an assertion. */
export async function typeTests() {
  if (!readdirSync(join(root, 'test/types')).some((file) => file.endsWith('.ts'))) return 0;
  return runBin(tsc, ['--noEmit', '-p', 'test/types/tsconfig.json']);
}
