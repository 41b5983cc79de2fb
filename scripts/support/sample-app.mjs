import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildStamp } from './build.mjs';
import { fail, root, runBin, tsc } from './run.mjs';

const folder = join(root, 'sample-app');

export const sampleApp = join(folder, 'dist/main.js');

/** Compiles the sample app unless that is newer than its sources and the library. */
export async function ensureSampleApp() {
  const sources = readdirSync(join(folder, 'src'), { recursive: true }).map((name) => join(folder, 'src', name));
  const inputs = [buildStamp, join(folder, 'tsconfig.json'), join(folder, 'src'), ...sources];
  const newest = Math.max(...inputs.map((file) => statSync(file).mtimeMs));
  if (existsSync(sampleApp) && statSync(sampleApp).mtimeMs >= newest) return;
  console.log('Building the sample app …');
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  if ((await runBin(tsc, ['-p', 'sample-app'])) !== 0) fail('The build of the sample app failed.');
}
