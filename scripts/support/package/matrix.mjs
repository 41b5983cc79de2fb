import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run.mjs';

const ownPackage = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** A tree is installed for each; no optional peer is among what is installed. */
export const NESTS = [
  { name: 'Nest 10', folder: 'nest-10', version: '10.4.22', testing: '10.4.22', esmOnly: false },
  { name: 'Nest 11', folder: 'nest-11', version: '11.2.10', testing: '11.2.6', esmOnly: false },
  { name: 'Nest 12', folder: 'nest-12', version: '12.5.1', testing: '12.1.1', esmOnly: true },
];

/** The oldest that `engines` allows, and the later ones that are kept alive. */
export const NODES = ['20', '22', '24'];

/** The last versions that run on each of {@link NODES}. */
export const RUNNERS = ['jest@30.5.2', 'vitest@3.2.7'];

/** How consumers' compilers find types, each with the extension of a file that it reads in that format. */
export const RESOLUTIONS = [
  { name: 'node10', extension: 'ts', module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  { name: 'node16, ESM', extension: 'mts', module: 'node16' },
  // The one resolution in which a CommonJS file may not import ESM, by which Nest 12 is out of its reach.
  { name: 'node16, CJS', extension: 'cts', module: 'node16', cannotRequireEsm: true },
  { name: 'nodenext, ESM', extension: 'mts', module: 'nodenext' },
  { name: 'nodenext, CJS', extension: 'cts', module: 'nodenext' },
  { name: 'bundler', extension: 'ts', module: 'esnext', moduleResolution: 'bundler' },
];

/** `nestjs-distributed-lock`, `nestjs-distributed-lock/memory`, … */
export const SUBPATHS = Object.keys(ownPackage.exports)
  .filter((path) => path !== './package.json')
  .map((path) => ownPackage.name + path.slice(1));

/** The packages that a consumer need not have. */
export const OPTIONAL_PEERS = Object.entries(ownPackage.peerDependenciesMeta)
  .filter(([, { optional }]) => optional)
  .map(([name]) => name);

/** A package as this repository's own tests have it: `@types/node@20.19.43`. */
export const asTested = (name) => `${name}@${ownPackage.devDependencies[name]}`;
