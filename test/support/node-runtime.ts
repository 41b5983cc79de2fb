import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * The binary of another Node version, from the npm package `node`; installed once into a cache folder.
 *
 * @param version a major version, such as 22
 */
export async function nodeRuntime(version: number): Promise<string> {
  const cache = join(process.cwd(), 'node_modules/.cache/node-runtime');
  const home = join(cache, `v${version}`);
  const binary = join(home, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(binary)) return binary;

  // Installed aside and moved into place, so that test files which ask at the same time do not meet a half of it.
  const aside = join(cache, `v${version}-${process.pid}-${Date.now()}`);
  mkdirSync(aside, { recursive: true });
  writeFileSync(join(aside, 'package.json'), '{ "private": true }');
  try {
    const install = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', aside, `node@${version}`];
    await run(process.platform === 'win32' ? 'npm.cmd' : 'npm', install, { cwd: aside, timeout: 180_000 });
    if (!existsSync(home)) renameSync(aside, home);
  } catch (error) {
    if (!existsSync(binary)) throw error;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  if (!existsSync(binary)) throw new Error(`npm install node@${version} left no binary at ${binary}`);
  return binary;
}
