import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

it('leaves neither memory nor Redis keys behind over a million keys, each used once', async () => {
  const bench = spawn(process.execPath, ['scripts/bench.mjs', '--only', 'leaks'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  bench.stdout.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(bench, 'close')) as [number | null];
  console.log(output);
  expect(code).toBe(0);
}, 180_000);
