// A process that takes a lock, says so, and holds it until it is killed. See mysql.behaviour.spec.ts.
import { randomBytes } from 'node:crypto';
import { mysqlStore, type MysqlStoreOptions } from '../../../lib/stores/mysql/index.js';

const [options, key, ttl] = JSON.parse(process.argv[2]!) as [MysqlStoreOptions, string, number];
const store = mysqlStore(options);
void store.open().then(async () => {
  const result = await store.acquire({
    key,
    owner: randomBytes(16).toString('hex'),
    label: `worker:${process.pid}`,
    mode: { kind: 'exclusive' },
    ttl,
    wait: false,
    signal: new AbortController().signal,
    onStatus: () => undefined,
  });
  if (!result.acquired) throw new Error('refused');
  process.send?.(String(result.hold.fence));
});
