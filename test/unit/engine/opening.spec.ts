import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const outputOf = async (script: string): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['--import', 'tsx', `test/unit/engine/${script}`])).stdout;

it('a start that fails late is told, although nothing else keeps the process alive', async () => {
  expect(await outputOf('opening.process.ts')).toContain('nobody has connected the client');
});

it('an end that takes a while comes to its end, although nothing else keeps the process alive', async () => {
  expect(await outputOf('closing.process.ts')).toContain('what comes after it');
});
