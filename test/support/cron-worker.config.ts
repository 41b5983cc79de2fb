export interface CronWorkerConfig {
  readonly redis: string;
  /** By how many ms its wall clock is wrong. */
  readonly skew: number;
}

/** The job under test. All times are ms. */
export const JOB = {
  period: 1_000,
  /** More than the clocks and timers of the processes differ, and less than half of the period. */
  minHold: 400,
  /** What the ticks after a holder's death cost, at the most. */
  ttl: 1_500,
  /** How long the body takes, and in every fifth tick, for the test to strike in the middle of it. */
  short: 20,
  long: 300,
} as const;

/** One line of the list that all processes append to, in Redis. */
export interface CronLine {
  /**
   * - `began`: it does the work of the tick.
   * - `done`: it has done it.
   * - `repeated`: it has found the tick's work done, and leaves it at that.
   * - `lost`: it has found, before it finished, that its lock was lost, and did not finish.
   */
  readonly type: 'began' | 'done' | 'repeated' | 'lost';
  /** The second, as the process sees it. */
  readonly tick: number;
  readonly pid: number;
  readonly token: string;
  /** When its body began, in ms on the monotonic clock of the host. */
  readonly at: number;
}

export interface CronReport {
  readonly fired: number;
  readonly acquired: number;
  readonly contended: number;
  readonly unavailable: number;
  /** What it logged as a warning or an error. */
  readonly logs: readonly string[];
  /** How late its latest timer was, in ms. */
  readonly latest: number;
}

export const LINES = 'lines';
export const LAST_TICK = 'last-tick';
