/**
 * What one store promises. The matrix in the documentation is generated from these records, and code can read
 * them as `locks.guarantees()`.
 */
export interface StoreGuarantees {
  /** Renewal and release compare the owner token in the store itself. */
  readonly ownership: boolean;
  /**
   * Whether a hold carries a fencing token, and over what it increases.
   * `global`: over all keys of the store. `per-key`: over the holds of one key. `none`: there is no token.
   */
  readonly fencing: 'global' | 'per-key' | 'none';
  /** A lock that was granted is still known after the store has failed over to another node. */
  readonly survivesFailover: boolean;
  /** Waiting processes are served in the order in which they came. */
  readonly fifo: boolean;
  /** How far exclusion reaches: this process, the processes of one host, or every process that reaches the store. */
  readonly reach: 'process' | 'host' | 'network';
  /**
   * `lease`: a lock ends when its time runs out. `session`: it ends when the server has not heard of its process for the session's
   * time, whatever becomes of single connections. `connection`: it ends with the connection that took it.
   */
  readonly expiry: 'lease' | 'session' | 'connection';
  /** How a waiting process learns that its turn has come. A slow poll stands below `push` as a safety net. */
  readonly wakeUp: 'push' | 'poll';
}
