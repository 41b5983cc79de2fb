import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { LOCK_EVENT_NAMES } from '../../../lib/engine/lock.events.js';
import { ATTRIBUTE } from '../../../lib/opentelemetry/attributes.js';
import { LOCK_METRICS } from '../../../lib/opentelemetry/lock.metrics.js';
import { metricsTable, prometheusName, withMetrics } from '../../../scripts/support/metrics-table.mjs';

const docs = readFileSync('docs/observability.md', 'utf8');
const dashboard = JSON.parse(readFileSync('docs/observability/dashboard.json', 'utf8'));

/** Every name that a query may use for a metric, with the unit in it and without. */
const series = Object.entries(LOCK_METRICS).flatMap(([name, metric]) => {
  const full = prometheusName(name, metric);
  const parts = metric.kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  return parts.map((part) => full.replace(/_seconds$/, '(_seconds)?') + part);
});
const labels = Object.values(ATTRIBUTE).map((attribute) => attribute.replaceAll('.', '_'));

const namesIn = (query: string) => query.match(/distributed_lock_[a-z_]+(?:\(_seconds\)\?)?[a-z_]*/g) ?? [];

it('shows the metrics that the code has (npm run docs writes them)', () => {
  expect(docs).toBe(withMetrics(docs, metricsTable(LOCK_METRICS)));
});

it('names every event and every attribute', () => {
  for (const name of LOCK_EVENT_NAMES) expect(docs).toContain(`\`${name}\``);
  for (const name of Object.values(ATTRIBUTE)) expect(docs).toContain(name);
});

it('asks in its queries for what there is', () => {
  const queries = [...docs.matchAll(/^\| `([^`]*distributed_lock_[^`]*[[(][^`]*)`/gm)].map(
    ([, query]) => query as string,
  );
  expect(queries.length).toBeGreaterThan(3);
  const known = [...series.map((name) => name.replace('(_seconds)?', '_seconds')), ...labels];
  expect(known).toEqual(expect.arrayContaining(queries.flatMap(namesIn)));
});

describe('the dashboard', () => {
  const queries: string[] = [
    ...dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.flatMap(({ definition }: { definition?: string }) => definition ?? []),
  ];

  it('asks for metrics and labels that the package emits, in every query', () => {
    for (const query of queries) {
      const names = namesIn(query);
      expect([...series, ...labels]).toEqual(expect.arrayContaining(names));
      expect(names.filter((name) => series.includes(name))).not.toEqual([]);
    }
  });

  it('shows every metric', () => {
    const shown = queries.flatMap(namesIn);
    for (const [name, metric] of Object.entries(LOCK_METRICS)) {
      const full = prometheusName(name, metric).replace(/_seconds$/, '');
      expect([name, shown.some((found) => found.startsWith(full))]).toEqual([name, true]);
    }
  });

  it('can be imported anywhere: it names no data source of its own, and no panel twice', () => {
    const sources = JSON.stringify(dashboard).match(/"uid":"[^"]*"/g) ?? [];
    expect(new Set(sources)).toEqual(new Set(['"uid":"${datasource}"', '"uid":"nestjs-distributed-lock"']));
    const ids = dashboard.panels.map(({ id }: { id: number }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(dashboard.id).toBeUndefined();
  });
});
