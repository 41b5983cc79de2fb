/** Something that happened to a lock, as its holder saw it. */
export interface HistoryEvent {
  /** Who: any text that tells holders apart that may run at the same time, such as `pid:worker`. */
  readonly process: string;
  readonly key: string;
  /** The fencing token of the hold. */
  readonly token: bigint;
  /**
   * - `acquired`: from here on the holder does its work. Record it after the lock was granted.
   * - `released`: the work is done. Record it before the lock is given back.
   * - `lost`: the holder learned that the lock was lost, and stopped.
   */
  readonly type: 'acquired' | 'released' | 'lost';
  /** When, in ns, on a clock that all processes share: `process.hrtime.bigint()` on one host. */
  readonly at: bigint;
  /**
   * Until when the lock was certain, on the same clock, as far as was known then. A hold counts as ended at that time
   * when its end was recorded later, as by a process that was stopped meanwhile: it has been told by the clock.
   */
  readonly validUntil?: bigint | undefined;
}

/** One hold, put together from its events. */
export interface RecordedHold {
  readonly process: string;
  readonly key: string;
  readonly token: bigint;
  /** ns */
  readonly from: bigint;
  /** ns; `undefined` when nothing tells of an end. */
  readonly to: bigint | undefined;
}

/** Two holders of one key at the same time. */
export interface Overlap {
  readonly key: string;
  readonly first: RecordedHold;
  readonly second: RecordedHold;
  /** For how long, in ns, or `undefined` when neither end is known. */
  readonly duration: bigint | undefined;
}

/** A hold whose token is not larger than that of an earlier hold of the same key. */
export interface FenceViolation {
  readonly key: string;
  readonly earlier: RecordedHold;
  readonly later: RecordedHold;
}

/** What {@link checkHistory} found. */
export interface HistoryReport {
  /** Whether nothing is wrong. */
  readonly ok: boolean;
  /** All holds, ordered by when they began. */
  readonly holds: readonly RecordedHold[];
  readonly overlaps: readonly Overlap[];
  readonly fenceViolations: readonly FenceViolation[];
}
