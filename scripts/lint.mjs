import { checkApiReference } from './support/docs/api-check.mjs';
import { ensureDependencies } from './support/ensure.mjs';
import { headline, runBin, tsc } from './support/run.mjs';

await ensureDependencies();

const checks = {
  eslint: () => runBin('eslint/bin/eslint.js', ['--max-warnings=0', '.']),
  prettier: () => runBin('prettier/bin/prettier.cjs', ['--check', '--log-level=warn', '.']),
  // The root project holds the type tests too.
  tsc: () => runBin(tsc, ['--noEmit']),
  'dependency-cruiser': () => runBin('dependency-cruiser/bin/dependency-cruise.mjs', ['lib']),
  'API reference': checkApiReference,
};

const failed = [];
for (const [name, check] of Object.entries(checks)) {
  headline(name);
  if ((await check()) !== 0) failed.push(name);
}

console.log(failed.length > 0 ? `\nlint failed: ${failed.join(', ')}` : '\nlint passed');
process.exitCode = failed.length > 0 ? 1 : 0;
