import type { StoreGuarantees } from '../../contract/index.js';
import { Bench } from './bench.js';
import { isApplicable, type ConformanceHooks } from './conformance.hooks.js';
import type { StoreConformance } from './conformance.options.js';
import type { ConformanceRunner } from './conformance.runner.js';

const TEST_TIMEOUT = 30_000;
// Ends a test that hangs before its runner does, so that faults are ended and stores closed.
const BODY_TIMEOUT = 25_000;

/** Where the parts of the suite put their tests. */
export class ConformanceSuite {
  /** Those of the group that is being put together. */
  #tests: (() => void)[] | undefined;

  constructor(
    private readonly options: StoreConformance,
    private readonly runner: ConformanceRunner,
  ) {}

  get guarantees(): StoreGuarantees {
    return this.options.guarantees;
  }

  group(name: string, body: () => void): void {
    const outer = this.#tests;
    const tests: (() => void)[] = [];
    this.#tests = tests;
    body();
    this.#tests = outer;
    // Some runners take a group without tests for a mistake.
    if (tests.length > 0) this.#define(() => this.runner.describe(name, () => tests.forEach((test) => test())));
  }

  test(name: string, body: (bench: Bench) => Promise<void>): void {
    const run = async (): Promise<void> => {
      const bench = new Bench(this.options);
      try {
        await bench.within(BODY_TIMEOUT, body(bench), 'the test to end');
      } finally {
        await bench.end();
      }
    };
    const timeout = TEST_TIMEOUT * Math.max(1, this.options.timeScale ?? 1);
    this.#define(() => this.runner.test(name, run, timeout));
  }

  /** A test that needs a fault; left out where the store's spec says why there is no such fault. */
  faultTest(
    fault: keyof ConformanceHooks,
    name: string,
    body: (bench: Bench, cause: () => Promise<() => Promise<void>>) => Promise<void>,
  ): void {
    const hook = this.options.hooks[fault];
    if (!isApplicable(hook)) return;
    this.test(name, async (bench) => {
      await body(bench, async () => {
        const end = await hook();
        let ended = false;
        const endOnce = async (): Promise<void> => {
          if (!ended) await end?.();
          ended = true;
        };
        // Before the stores are closed, whatever becomes of the test.
        bench.onEnd(endOnce);
        return endOnce;
      });
    });
  }

  #define(definition: () => unknown): void {
    if (this.#tests === undefined) definition();
    else this.#tests.push(() => void definition());
  }
}
