import type { LockMetric } from '../../lib/opentelemetry/lock.metrics.js';

export function prometheusName(name: string, metric: Pick<LockMetric, 'kind' | 'unit'>): string;
export function metricsTable(metrics: Readonly<Record<string, LockMetric>>): string;
export function withMetrics(text: string, table: string): string;
