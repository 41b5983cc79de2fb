/** An instrument, as it is made and as the documentation shows it. */
export interface LockMetric {
  readonly kind: 'counter' | 'histogram' | 'up-down counter';
  /** In UCUM, with what is counted in braces. */
  readonly unit: string;
  readonly description: string;
  /** Attributes beyond store, backend and template. */
  readonly attributes?: readonly string[];
  /** Bucket boundaries, as advice: a view of the SDK goes before them. */
  readonly buckets?: readonly number[];
}

const WAIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
// Bodies last longer than waits: a nightly job has its place too.
const HOLD_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** Every metric that this package emits. */
export const LOCK_METRICS = {
  'distributed_lock.wait.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long calls waited for a lock, until they had it or gave up',
    attributes: ['distributed_lock.outcome'],
    buckets: WAIT_BUCKETS,
  },
  'distributed_lock.hold.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long locks were held, until they were given back or lost',
    attributes: ['distributed_lock.outcome'],
    buckets: HOLD_BUCKETS,
  },
  'distributed_lock.acquired': {
    kind: 'counter',
    unit: '{lock}',
    description: 'Locks that were taken',
    attributes: ['distributed_lock.handed_off'],
  },
  'distributed_lock.contended': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls that gave up since somebody else held the key',
  },
  'distributed_lock.unavailable': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls that gave up since the store did not answer',
  },
  'distributed_lock.lost': {
    kind: 'counter',
    unit: '{lock}',
    description: 'Locks that ended before they were given back',
  },
  'distributed_lock.renewals': {
    kind: 'counter',
    unit: '{renewal}',
    description: 'Renewals of leases, by the watchdog or by extend()',
  },
  'distributed_lock.renewal_failures': {
    kind: 'counter',
    unit: '{renewal}',
    description: 'Renewals without an answer; each is tried again while the lock lasts',
  },
  'distributed_lock.release_failures': {
    kind: 'counter',
    unit: '{release}',
    description: 'Releases without an answer; each is tried again in the background',
  },
  'distributed_lock.held': {
    kind: 'up-down counter',
    unit: '{lock}',
    description: 'Locks that this process holds now',
  },
  'distributed_lock.waiters': {
    kind: 'up-down counter',
    unit: '{call}',
    description: 'Calls of this process that wait for a lock now',
  },
} as const satisfies Readonly<Record<string, LockMetric>>;

export type LockMetricName = keyof typeof LOCK_METRICS;
