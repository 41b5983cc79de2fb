import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

// The embedded default has a step of its own in .ci/run.
it.each(['redis', 'redlock', 'postgres', 'mysql', 'etcd', 'zookeeper'])(
  'the demo sells nothing twice over %s, and shows that without a lock it would',
  async (store) => {
    const { stdout } = await run(process.execPath, ['scripts/demo.mjs', '--json', '--store', store]);
    const figures = JSON.parse(stdout);
    expect(figures).toMatchObject({ ok: true, store, oversold: { locked: 0, killed: 0 } });
    expect(figures.oversold.unlocked).toBeGreaterThan(0);
  },
  120_000,
);
