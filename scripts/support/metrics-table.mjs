const START = '<!-- metrics:start -->';
const END = '<!-- metrics:end -->';

/** What a metric is called in Prometheus, where the unit is a part of the name. */
export function prometheusName(name, { kind, unit }) {
  const base = name.replaceAll('.', '_') + (unit === 's' ? '_seconds' : '');
  return kind === 'counter' ? `${base}_total` : base;
}

/** The metrics of the package as a Markdown table, a row each. */
export function metricsTable(metrics) {
  const cells = [
    ['Metric', 'Kind', 'Unit', 'What', 'Further attribute', 'In Prometheus'],
    ...Object.entries(metrics).map(([name, metric]) => [
      code(name),
      metric.kind,
      code(metric.unit),
      metric.description,
      (metric.attributes ?? []).map((attribute) => code(attribute.replace('distributed_lock', ''))).join(', '),
      code(prometheusName(name, metric)),
    ]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [
    line(cells[0]),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...cells.slice(1).map(line),
  ].join('\n');
}

const code = (text) => `\`${text}\``;

/** `text` with the table between its marks. */
export function withMetrics(text, table) {
  const [head, rest] = text.split(START);
  if (rest === undefined || !rest.includes(END)) throw new Error(`There are no marks ${START} … ${END}.`);
  return `${head}${START}\n\n${table}\n\n${END}${rest.split(END)[1]}`;
}
