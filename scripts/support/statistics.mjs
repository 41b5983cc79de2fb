/** The value that a share of all values does not exceed: `quantile(waits, 0.99)`. */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

export const median = (values) => quantile(values, 0.5);

export const sum = (values) => values.reduce((total, value) => total + value, 0);

export const mean = (values) => sum(values) / values.length;

/** Jain's fairness index: 1 when all are equal, 1/n when one has everything. */
export function jain(values) {
  return sum(values) ** 2 / (values.length * sum(values.map((value) => value * value)));
}
