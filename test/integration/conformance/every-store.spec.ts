import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

/** Folders below lib/stores that are parts of stores. */
const PARTS = ['shared', 'sql'];

const stores = readdirSync('lib/stores', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !PARTS.includes(entry.name))
  .map(({ name }) => name);

test('there are stores', () => {
  expect(stores).toEqual(expect.arrayContaining(['memory', 'redis', 'sqlite']));
});

test.each(stores)('the %s store runs the conformance suite', (name) => {
  const spec = join('test/integration/stores', `${name}.spec.ts`);
  expect(existsSync(spec)).toBe(true);
  const text = readFileSync(spec, 'utf8');
  expect(text).toMatch(new RegExp(`from '.*/lib/stores/${name}/index\\.js'`));
  expect(text).toMatch(/^\s*storeConformance\(/m);
});
