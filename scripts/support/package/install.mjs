import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run.mjs';
import { npm } from './command.mjs';
import { asTested, RUNNERS } from './matrix.mjs';

/** What would be published, as a file in `folder`. */
export async function pack(folder) {
  const [{ filename }] = JSON.parse(await npm(['pack', '--json', '--pack-destination', folder], { cwd: root }));
  return join(folder, filename);
}

/** A folder that has nothing but some packages. None of them needs its install scripts for what is tried here. */
export async function install(folder, packages) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--loglevel=error'];
  await npm(['install', ...quiet, '--prefer-offline', ...packages], { cwd: folder });
}

/** The tarball in a project as a consumer's, who uses no store but the one in memory. */
export function installNest(folder, { version, testing }, tarball) {
  return install(folder, [
    tarball,
    `@nestjs/common@${version}`,
    `@nestjs/core@${version}`,
    `@nestjs/testing@${testing}`,
    'reflect-metadata@0.2.2',
    'rxjs@7.8.2',
    asTested('@types/node'),
  ]);
}

/** The test runners, in the folder above the trees, from where each of them finds them. */
export function installRunners(folder) {
  return install(folder, RUNNERS);
}
