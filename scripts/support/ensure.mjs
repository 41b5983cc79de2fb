import { accessSync, constants, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { build, buildStamp } from './build.mjs';
import { fail, root, run } from './run.mjs';

const servers = {
  'redis-server': { apt: 'redis-server', dnf: 'redis', brew: 'redis', url: 'TEST_REDIS_URL=redis://localhost:6379' },
  postgres: {
    apt: 'postgresql',
    dnf: 'postgresql-server',
    brew: 'postgresql',
    url: 'TEST_POSTGRES_URL=postgres://user:password@localhost:5432/database',
    // Debian keeps the server's programs out of the PATH.
    folder: '/usr/lib/postgresql',
  },
  pgbouncer: { apt: 'pgbouncer', dnf: 'pgbouncer', brew: 'pgbouncer' },
  etcd: { apt: 'etcd-server', dnf: 'etcd', brew: 'etcd', url: 'TEST_ETCD_URL=http://localhost:2379' },
  etcdctl: { apt: 'etcd-client', dnf: 'etcd', brew: 'etcd' },
  zookeeper: {
    apt: 'zookeeper',
    dnf: 'zookeeper',
    brew: 'zookeeper',
    url: 'TEST_ZOOKEEPER_URL=zookeeper://localhost:2181',
    // A Java archive, not a program.
    file: '/usr/share/java/zookeeper.jar',
  },
  mariadbd: {
    apt: 'mariadb-server',
    dnf: 'mariadb-server',
    brew: 'mariadb',
    url: 'TEST_MYSQL_URL=mysql://user:password@localhost:3306/database',
  },
};

/** Runs `npm ci` unless what is installed is what package-lock.json names. */
export async function ensureDependencies() {
  if (installedMatchesLock()) return;
  console.log('Installing dependencies (npm ci) …');
  // On Windows npm is a script that only a shell can start; npm itself tells where its own JavaScript is.
  const npm = process.env.npm_execpath;
  const code = npm ? await run(process.execPath, [npm, 'ci']) : await run('npm', ['ci']);
  if (code !== 0) fail('npm ci failed.');
}

// Contents rather than file times: a fresh clone's times mean nothing, and `npm install` writes both files at once.
function installedMatchesLock() {
  const installedLock = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installedLock)) return false;
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(installedLock);
  return Object.entries(wanted).every(
    ([path, entry]) => path === '' || entry.optional || installed[path]?.version === entry.version,
  );
}

function readPackages(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

/** Builds unless dist is newer than the sources. */
export async function ensureBuild() {
  if (existsSync(buildStamp) && statSync(buildStamp).mtimeMs >= newestSource()) return;
  console.log('Building …');
  if ((await build()) !== 0) fail('The build failed.');
}

function newestSource() {
  const configs = ['package.json', 'tsconfig.json', 'tsconfig.build.esm.json', 'tsconfig.build.cjs.json'];
  const sources = readdirSync(join(root, 'lib'), { recursive: true }).map((name) => join('lib', name));
  // Folders count: a deleted file shows in the time of its folder.
  return Math.max(...[...configs, 'lib', ...sources].map((file) => statSync(join(root, file)).mtimeMs));
}

/**
 * Sees to it that a server's program can be started by the tests.
 * A server that the environment names by its URL makes the program unnecessary.
 */
export async function ensureServer(program) {
  const { apt, dnf, brew, url, folder, file } = servers[program];
  const found = () => onPath(program) || below(folder, program) || (file !== undefined && existsSync(file));
  if ((url && process.env[url.split('=')[0]]) || found()) return;
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    console.log(`Installing ${apt} …`);
    if ((await aptInstall(apt)) === 0 && found()) return;
  }
  fail(
    [
      `${program} is needed, but not on the PATH. Install it:`,
      ...(process.platform === 'darwin'
        ? [`  brew install ${brew}`]
        : onPath('dnf')
          ? [`  sudo dnf install -y ${dnf}`]
          : [`  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${apt}`]),
      ...(url ? [`or name a running server: ${url}`] : []),
    ].join('\n'),
  );
}

async function aptInstall(name) {
  // The tests start servers of their own on free ports: the system's service must stay down. 101 = "not allowed".
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const updated = await run('apt-get', ['update', '-qq'], { env });
    if (updated !== 0) return updated;
    return await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], { env });
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}

/** Whether some version below `folder` has the program: a client alone makes the same folder. */
function below(folder, program) {
  if (folder === undefined || !existsSync(folder)) return false;
  return readdirSync(folder).some((version) => existsSync(join(folder, version, 'bin', program)));
}

function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
