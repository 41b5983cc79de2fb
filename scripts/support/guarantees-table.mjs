const COLUMNS = [
  ['excludes', ({ reach }) => ({ process: 'one process', host: 'one host', network: 'every process' })[reach]],
  ['owner compared', ({ ownership }) => yes(ownership)],
  ['fencing tokens', ({ fencing }) => ({ none: 'no', global: 'over all keys', 'per-key': 'of each key' })[fencing]],
  ['survives failover', ({ survivesFailover }) => yes(survivesFailover)],
  ['first come, first served', ({ fifo }) => yes(fifo)],
  ['waiting is', ({ wakeUp }) => ({ push: 'pushed', poll: 'polled' })[wakeUp]],
  ['ends with', ({ expiry }) => ({ lease: 'its lease', session: 'its session', connection: 'its connection' })[expiry]],
];

const yes = (value) => (value ? 'yes' : 'no');

/** Every store, each in every mode, under the name that its row has. None is opened. */
export function documentedStores({
  etcdStore,
  memoryStore,
  mysqlStore,
  postgresStore,
  redisStore,
  redlockStore,
  sqliteStore,
  zookeeperStore,
}) {
  const named = (name, { guarantees }) => ({ name, guarantees });
  return [
    named('redis', redisStore({ url: 'redis://localhost' })),
    named('redlock', redlockStore({ urls: ['redis://a', 'redis://b', 'redis://c'] })),
    ...['table', 'row', 'advisory'].map((mode) =>
      named(`postgres ${mode}`, postgresStore({ connection: 'postgres://localhost/locks', mode })),
    ),
    ...['table', 'row', 'named'].map((mode) =>
      named(`mysql ${mode}`, mysqlStore({ connection: 'mysql://localhost/locks', mode })),
    ),
    named('etcd', etcdStore({ hosts: 'http://localhost:2379' })),
    named('zookeeper', zookeeperStore({ connectionString: 'localhost:2181' })),
    named('sqlite', sqliteStore({ filename: 'locks.db' })),
    named('memory', memoryStore()),
  ];
}

/** The guarantees of some stores as a Markdown table, a row each. */
export function guaranteesTable(stores) {
  const cells = [
    ['', ...COLUMNS.map(([title]) => title)],
    ...stores.map(({ name, guarantees }) => [name, ...COLUMNS.map(([, show]) => show(guarantees))]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(cells[0]), rule, ...cells.slice(1).map(line)].join('\n');
}

const START = '<!-- guarantees:start -->';
const END = '<!-- guarantees:end -->';

/** `text` with the table between its marks. */
export function withGuarantees(text, table) {
  const [head, rest] = text.split(START);
  if (rest === undefined || !rest.includes(END)) throw new Error(`There are no marks ${START} … ${END}.`);
  return `${head}${START}\n\n${table}\n\n${END}${rest.split(END)[1]}`;
}
