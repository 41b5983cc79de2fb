// 300 buyers, three processes, one item: first without the lock, then with it, then with one process killed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanUp, onEnd } from './support/cleanup.mjs';
import { killedSale } from './support/demo/killed-sale.mjs';
import { sale } from './support/demo/sale.mjs';
import { startShops } from './support/demo/shops.mjs';
import { readOptions } from './support/options.mjs';
import { prepare } from './support/prepare.mjs';
import { SERVERS } from './support/servers.mjs';
import { table } from './support/table.mjs';

const INSTANCES = 3;
const BUYERS = 300;
const STORES = ['sqlite', ...Object.keys(SERVERS)];

const usage = `Usage: npm run demo [-- options]

Options:
  --store sqlite   locks in the SQLite file that the shop's data is in (the default)
  --store redis    locks in a private redis-server, which is started for the demo
  --store redlock  locks by the majority of three private redis-servers
  --store postgres locks in a table of a private Postgres
  --store mysql    locks in a table of a private MariaDB
  --store etcd     locks in a private etcd
  --store zookeeper  locks in a private ZooKeeper
  --url <url>      with one of these servers: locks in this server instead, redis://[user:password@]host:port[/db];
                   for redlock redlock:host:port,host:port,host:port
  --json           one JSON object on stdout, everything else on stderr (npm run --silent demo -- --json)
  --help           this text`;

const { store, json, url } = readOptions(
  usage,
  { store: { type: 'string', default: 'sqlite' }, url: { type: 'string' }, json: { type: 'boolean', default: false } },
  ({ store, url }) => {
    if (!STORES.includes(store)) return `There is no store "${store}" here. There are: ${STORES.join(', ')}.`;
    if (url === undefined) return undefined;
    const { protocol } = SERVERS[store] ?? {};
    if (protocol === undefined) return `--url goes with --store ${Object.keys(SERVERS).join(', ')}.`;
    // It is not shown: the URL may have a password in it.
    return protocol.test(url) && URL.canParse(url)
      ? undefined
      : `--url must be the URL of a server for --store ${store}.`;
  },
);

const say = (text) => console.error(text);

async function main() {
  const server = SERVERS[store];
  const givenUrl = server && (url ?? process.env[server.variable]);
  await prepare('sample-app', ...(server && givenUrl === undefined ? [server.program] : []));

  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'lock-demo-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'shop.sqlite');
  const env = { SHOP_FILE: file };
  if (server) env.LOCK_URL = givenUrl ?? (await server.start());

  const sales = [];
  let shops = await startShops(INSTANCES, env);
  const common = { shops, file, buyerCount: BUYERS };
  // Opens the connections and lets the code get warm, so that the buyers of the sales really come at once.
  await sale({ ...common, name: 'warm-up', path: '/buy/unlocked/', stock: 0 });
  say(`\n${BUYERS} buyers for one item, without a lock …`);
  sales.push(await sale({ ...common, name: 'unlocked', path: '/buy/unlocked/', stock: 1 }));
  say('… and with @DistributedLock …');
  sales.push(await sale({ ...common, name: 'locked', path: '/buy/locked/', stock: 1 }));
  await Promise.all(shops.map((shop) => shop.stop()));

  say('\nOnce more with 30 pieces; one process will be killed with SIGKILL in the middle of a purchase …');
  // Its second payment does not return, so that it is certain to hold the lock when it is killed.
  const stuckVictim = (index) => (index === INSTANCES - 1 ? { STUCK_PAYMENT: '2' } : {});
  shops = await startShops(INSTANCES, { ...env, LOCK_TTL: '2s' }, stuckVictim);
  sales.push(await killedSale({ ...common, shops, name: 'locked, one killed', path: '/buy/locked/', stock: 30 }));
  await Promise.all(shops.slice(0, -1).map((shop) => shop.stop()));

  const runs = sales.map(({ result }) => result);
  const problems = [...sales.flatMap(({ problems }) => problems), ...judge(runs)];
  const seconds = Number(((performance.now() - started) / 1000).toFixed(1));
  report({ ok: problems.length === 0, store, seconds, oversold: oversoldOf(runs), runs, problems });
  return problems.length === 0 ? 0 : 1;
}

function* judge([unlocked, locked, killed]) {
  if (unlocked.oversold === 0) yield 'unlocked: no race showed, so that the locked runs prove nothing';
  if (locked.sold !== locked.stock) yield `locked: ${locked.sold} were sold instead of ${locked.stock}`;
  if (killed.oversold > 0) yield `locked, one killed: ${killed.oversold} were sold too many`;
}

function oversoldOf([unlocked, locked, killed]) {
  return { unlocked: unlocked.oversold, locked: locked.oversold, killed: killed.oversold };
}

function report(figures) {
  if (json) return console.log(JSON.stringify(figures));
  const { runs, problems, seconds } = figures;
  const head = ['run', 'stock', 'sold', 'oversold', 'refused', 'failed', 'wait p50', 'wait p99'];
  const names = runs[0].instances.map(({ name }) => name);
  const rows = runs.map(({ name, stock, sold, oversold, refused, failed, waitMs, instances }) => [
    name,
    ...[stock, sold, oversold, refused, failed, `${waitMs.p50} ms`, `${waitMs.p99} ms`],
    ...instances.map(({ sold, answered }) => `${sold}/${answered}`),
  ]);
  const killed = runs.at(-1);
  console.log(`
${table([...head, ...names], rows)}

wait: from a buyer's first post to the answer. ${names[0]} …: sold there / buyers answered there.
${killed.killed} was killed while it ${killed.heldTheLock ? 'held' : 'did NOT hold'} the lock; ${killed.retried} buyers asked another instance with the same purchase id, and
the sale was over ${killed.secondsAfterKill} s later. ${killed.repeated} buyers then sent their purchase once more: ${killed.doubled} were sold again.
${problems.length === 0 ? `All as it should be, in ${seconds} s.` : problems.map((problem) => `PROBLEM ${problem}`).join('\n')}`);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`The demo failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}
