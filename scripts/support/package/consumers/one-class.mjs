// Two copies of a class are two providers to Nest: `import` and `require` must give the same one, from each subpath.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { subpaths } = JSON.parse(process.argv[2]);
for (const subpath of subpaths) {
  const imported = await import(subpath);
  const required = require(subpath);
  const names = Object.keys(imported).filter((name) => name !== 'module.exports' && name !== '__esModule');
  assert.deepEqual(
    names.filter((name) => imported[name] !== required[name]),
    [],
    `${subpath}: not the same by import and by require`,
  );
}
