// Packs the library and uses the tarball as others would: run, resolved and type-checked outside this repository.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuild, ensureDependencies } from './support/ensure.mjs';
import { headline, root, run, runBin, tsc } from './support/run.mjs';

/** The trees that the tarball is installed into; no optional peer is among them. */
const trees = [
  { name: 'Nest 10', nest: '10.4.22', formats: ['esm', 'cjs'] },
  { name: 'Nest 11', nest: '11.2.10', formats: ['esm', 'cjs'] },
  { name: 'Nest 12', nest: '12.5.1', formats: ['esm', 'cjs'] },
];

/** How consumers' compilers find types, each with the extension of a file that it reads in that format. */
const typeResolutions = [
  { name: 'nodenext, ESM', extension: 'mts', options: { module: 'nodenext' } },
  { name: 'nodenext, CJS', extension: 'cts', options: { module: 'nodenext' } },
  { name: 'bundler', extension: 'ts', options: { module: 'esnext', moduleResolution: 'bundler' } },
  {
    name: 'node10',
    extension: 'ts',
    options: { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  },
];

const ownPackage = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const subpaths = Object.keys(ownPackage.exports)
  .filter((path) => path !== './package.json')
  .map((path) => ownPackage.name + path.slice(1));

const useLibrary = `
class Orders {
  async pay(orderId) {
    return 'paid ' + orderId;
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'pay');
DistributedLock('order:<orderId>')(Orders.prototype, 'pay', descriptor);
Object.defineProperty(Orders.prototype, 'pay', descriptor);
class App {}
Module({ imports: [LockModule.forRoot({ store: memoryStore() })], providers: [Orders] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
const result = await app.get(LockService).withLock('order:1', () => 'done');
if (result !== 'done') throw new Error('withLock gave ' + result);
const paid = await app.get(Orders).pay(7);
if (paid !== 'paid 7') throw new Error('pay gave ' + paid);
await app.close();
`;

const consumers = {
  esm: `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, LockModule, LockService } from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
${useLibrary}`,
  cjs: `
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DistributedLock, LockModule, LockService } = require('nestjs-distributed-lock');
const { memoryStore } = require('nestjs-distributed-lock/memory');
(async () => {${useLibrary}})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
`,
};

const typedConsumer = `
import { LockModule, LockService } from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
${subpaths.map((path, index) => `import * as subpath${index} from '${path}';`).join('\n')}
export const all = [${subpaths.map((_, index) => `subpath${index}`).join(', ')}];
export const imported = LockModule.forRoot({ store: memoryStore() });
export const run = (locks: LockService): Promise<number> => locks.withLock('order:1', () => 1);
// @ts-expect-error a key is no number: were the types missing, this would be no error
export const wrong = (locks: LockService) => locks.withLock(1, () => 1);
`;

const failures = [];

async function check(name, body) {
  headline(name);
  try {
    await body();
    console.log('ok');
  } catch (error) {
    console.error(error.message);
    failures.push(name);
  }
}

async function mustSucceed(code, what) {
  if ((await code) !== 0) throw new Error(`${what} failed.`);
}

function npm(args, cwd) {
  const cli = process.env.npm_execpath;
  const [command, before] = cli ? [process.execPath, [cli]] : ['npm', []];
  return execFileSync(command, [...before, ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function pack(folder) {
  const [{ filename }] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder], root));
  return join(folder, filename);
}

function installTree(folder, { nest }, tarball) {
  mkdirSync(folder);
  writeJson(join(folder, 'package.json'), { private: true });
  npm(
    [
      'install',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      tarball,
      `@nestjs/common@${nest}`,
      `@nestjs/core@${nest}`,
      'reflect-metadata@0.2.2',
      'rxjs@7.8.2',
      `@types/node@${ownPackage.devDependencies['@types/node']}`,
    ],
    folder,
  );
}

async function assertRuns(folder, format) {
  const file = `consumer.${format === 'esm' ? 'mjs' : 'cjs'}`;
  writeFileSync(join(folder, file), consumers[format]);
  await mustSucceed(run(process.execPath, [file], { cwd: folder }), file);
}

/** Two copies of a class are two providers to Nest: `import` and `require` must give the same one. */
async function assertOneIdentity(folder) {
  writeFileSync(
    join(folder, 'identity.mjs'),
    `
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as imported from 'nestjs-distributed-lock';
const required = createRequire(import.meta.url)('nestjs-distributed-lock');
assert.equal(typeof imported.LockModule, 'function');
assert.equal(required.LockModule, imported.LockModule);
`,
  );
  await mustSucceed(run(process.execPath, ['identity.mjs'], { cwd: folder }), 'identity.mjs');
}

async function assertTypes(folder, { extension, options }) {
  const file = `consumer-types.${extension}`;
  writeFileSync(join(folder, file), typedConsumer);
  writeJson(join(folder, 'tsconfig.json'), {
    compilerOptions: {
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      types: ['node'],
      strict: true,
      noEmit: true,
      // The library's declarations must compile without any client installed.
      skipLibCheck: false,
      experimentalDecorators: true,
      ...options,
    },
    files: [file],
  });
  await mustSucceed(runBin(tsc, ['-p', folder]), 'tsc');
}

function writeJson(file, value) {
  writeFileSync(file, JSON.stringify(value, null, 2));
}

await ensureDependencies();
await ensureBuild();

const temporary = mkdtempSync(join(tmpdir(), 'lock-package-'));
try {
  const tarball = pack(temporary);
  await check('attw', () => mustSucceed(runBin('@arethetypeswrong/cli/dist/index.js', [tarball]), 'attw'));
  await check('publint', () => mustSucceed(runBin('publint/src/cli.js', ['--strict', tarball]), 'publint'));

  for (const [index, tree] of trees.entries()) {
    const folder = join(temporary, `tree-${index}`);
    headline(`install: ${tree.name}`);
    installTree(folder, tree, tarball);
    for (const format of tree.formats) await check(`${tree.name}, ${format}`, () => assertRuns(folder, format));
    await check(`${tree.name}, one identity`, () => assertOneIdentity(folder));
    for (const resolution of typeResolutions) {
      await check(`${tree.name}, types: ${resolution.name}`, () => assertTypes(folder, resolution));
    }
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

console.log(failures.length > 0 ? `\npackage failed: ${failures.join('; ')}` : '\npackage passed');
process.exitCode = failures.length > 0 ? 1 : 0;
