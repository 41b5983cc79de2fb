import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onEnd } from './cleanup.mjs';

/**
 * Starts a private redis-server on a free port that keeps nothing on disk, until the script ends.
 *
 * @returns its URL
 */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), 'lock-redis-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => server.once('close', resolve));
  onEnd(async () => {
    server.kill();
    await ended;
  });
  await new Promise((resolve, reject) => {
    let log = '';
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}:\n${log}`)));
    server.stdout.on('data', (data) => {
      log = (log + data).slice(-10_000);
      if (/ready to accept connections/i.test(log)) resolve();
    });
  });
  return `redis://127.0.0.1:${port}`;
}

/**
 * Starts so many of them, independent of one another.
 *
 * @returns one URL that names them all: redlock:host:port,host:port
 */
export async function startRedisNodes(count) {
  const urls = [];
  for (let each = 0; each < count; each += 1) urls.push(await startRedis());
  return `redlock:${urls.map((url) => new URL(url).host).join(',')}`;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
