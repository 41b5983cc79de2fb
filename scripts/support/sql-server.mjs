import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onEnd } from './cleanup.mjs';
import { root } from './run.mjs';

/**
 * Starts a private server, the way the tests do, until the script ends.
 *
 * @param durable whether a commit is flushed to the disk (postgres and mysql)
 * @returns its URL
 */
export async function startSqlServer(name, { durable = false } = {}) {
  const server = spawn(
    process.execPath,
    ['--import', 'tsx', 'test/support/serve.ts', name, ...(durable ? ['durable'] : [])],
    {
      cwd: root,
      stdio: ['pipe', 'pipe', 'inherit'],
      // Ctrl-C is for the script, which then ends the server's input.
      detached: true,
    },
  );
  const ended = once(server, 'close');
  onEnd(async () => {
    server.stdin.end();
    await ended;
  });
  let output = '';
  server.stdout.on('data', (data) => (output += data));
  await Promise.race([once(server.stdout, 'data'), ended]);
  if (output === '') throw new Error(`the ${name} server did not start`);
  return output.trim();
}
