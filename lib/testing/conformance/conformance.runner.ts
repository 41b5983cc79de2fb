/** The functions of a test runner that the suite calls. Those of Jest, Vitest and `node:test` fit. */
export interface ConformanceRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, body: () => Promise<void>, timeout: number): unknown;
}

/** The runner whose functions are global, as Jest's are and Vitest's with `globals: true`. */
export function globalRunner(): ConformanceRunner {
  const { describe, test } = globalThis as Partial<ConformanceRunner>;
  if (describe === undefined || test === undefined) {
    throw new Error(
      'storeConformance() found no global describe() and test(). Hand them over: storeConformance(name, options, { describe, test }).',
    );
  }
  return { describe, test };
}
