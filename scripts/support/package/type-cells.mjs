import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, tsc } from '../run.mjs';
import { output } from './command.mjs';
import { unlessAlone } from './control.mjs';
import { NESTS, RESOLUTIONS, SUBPATHS } from './matrix.mjs';

const mainEntry = `
import { LockModule, LockService } from 'nestjs-distributed-lock';
export const run = (locks: LockService): Promise<number> => locks.withLock('order:1', () => 1);
// @ts-expect-error a key is no number: were the types missing, this would be no error
export const wrong = (locks: LockService) => locks.withLock(1, () => 1);
`;

const everything = `${mainEntry}
import { memoryStore } from 'nestjs-distributed-lock/memory';
export const imported = LockModule.forRoot({ store: memoryStore() });
${SUBPATHS.map((path, index) => `import * as subpath${index} from '${path}';`).join('\n')}
export const all = [${SUBPATHS.map((_, index) => `subpath${index}`).join(', ')}];
`;

const nestAlone = `
import { Module } from '@nestjs/common';
export const name: string = Module.name;
`;

const nodenext = RESOLUTIONS.find(({ name }) => name === 'nodenext, ESM');

export function typeCells(report, trees) {
  for (const nest of NESTS) {
    const cell = (row, work) =>
      report.cell({ table: 'Types', row, column: nest.name }, [trees[nest.folder]], (tree) => work(tree));
    cell('main entry alone', (tree) => compile(tree, 'main', nodenext, mainEntry));
    for (const resolution of RESOLUTIONS) {
      const folder = resolution.name.replace(', ', '-');
      const attempt = (tree) => compile(tree, folder, resolution, everything);
      if (!(nest.esmOnly && resolution.cannotRequireEsm)) {
        cell(resolution.name, attempt);
        continue;
      }
      const reason = 'Nest 12 is ESM only: to a CommonJS file its types are an error under node16.';
      cell(resolution.name, (tree) =>
        unlessAlone(
          () => compile(tree, `${folder}-alone`, resolution, nestAlone),
          reason,
          () => attempt(tree),
        ),
      );
    }
  }
}

/** In a tree without any optional peer: nobody may need a client that they do not use, not even to type-check. */
function compile(tree, name, resolution, source) {
  const { extension, module, moduleResolution, ignoreDeprecations } = resolution;
  const folder = join(tree, 'types', name);
  mkdirSync(folder, { recursive: true });
  const file = `consumer.${extension}`;
  writeFileSync(join(folder, file), source);
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    noEmit: true,
    // Looks into our own declarations too.
    skipLibCheck: false,
    experimentalDecorators: true,
    ...{ module, moduleResolution, ignoreDeprecations },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }, null, 2));
  return output(process.execPath, [join(root, 'node_modules', tsc), '-p', '.'], { cwd: folder });
}
