const ROWS = [
  [
    'Excludes',
    ({ reach }) => ({ process: 'one process', host: 'the processes of one host', network: 'every process' })[reach],
  ],
  ['Owner compared at renewal and release', ({ ownership }) => yes(ownership)],
  [
    'Fencing tokens',
    ({ fencing }) => ({ none: 'no', global: 'yes, over all keys', 'per-key': 'yes, of each key' })[fencing],
  ],
  ['A granted lock survives a failover', ({ survivesFailover }) => yes(survivesFailover)],
  ['First come, first served between processes', ({ fifo }) => yes(fifo)],
  ['How a waiting process is woken', ({ wakeUp }) => ({ push: 'pushed', poll: 'polls' })[wakeUp]],
  ['A lock ends with', ({ expiry }) => ({ lease: 'its lease', session: 'its session' })[expiry]],
];

const yes = (value) => (value ? 'yes' : 'no');

/** The guarantees of some stores as a Markdown table, a column each. */
export function guaranteesTable(stores) {
  const cells = [
    ['', ...stores.map(({ name }) => name)],
    ...ROWS.map(([title, show]) => [title, ...stores.map(({ guarantees }) => show(guarantees))]),
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
