import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, runBin, tsc } from './run.mjs';

/** Written last, so that its time says when a whole build was there. */
export const buildStamp = join(root, 'dist/cjs/package.json');

/** Compiles both formats into an empty dist. */
export async function build() {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const codes = await Promise.all(['esm', 'cjs'].map((format) => runBin(tsc, ['-p', `tsconfig.build.${format}.json`])));
  if (codes.some((code) => code !== 0)) return 1;
  // The package is ESM; this folder is not.
  writeFileSync(buildStamp, '{\n  "type": "commonjs"\n}\n');
  return 0;
}
