import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

it('a start that fails late is told, although nothing else keeps the process alive', async () => {
  const script = 'test/unit/engine/opening.process.ts';
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);
  expect(stdout).toContain('nobody has connected the client');
});
