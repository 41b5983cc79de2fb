import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const scripts = readdirSync('scripts').filter((name) => name.endsWith('.mjs'));

it.each(scripts)('%s can be loaded before anything is installed', (name) => {
  expect(packagesLoadedBy(join('scripts', name))).toEqual([]);
});

/** What a script's own import statements and those of the files behind them name outside of Node and of the repository. */
function packagesLoadedBy(script: string): string[] {
  const files = new Set([script]);
  const packages: string[] = [];
  for (const file of files) {
    for (const imported of importsOf(file)) {
      if (imported.startsWith('.')) files.add(join(dirname(file), imported));
      else if (!imported.startsWith('node:')) packages.push(`${file}: ${imported}`);
    }
  }
  return packages;
}

function importsOf(file: string): string[] {
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    const names = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
    return names && statement.moduleSpecifier ? [(statement.moduleSpecifier as ts.StringLiteral).text] : [];
  });
}
