/** One key as the engine is asked for it, all values checked and in milliseconds. */
export interface LockRequest {
  readonly key: string;
  readonly ttl: number;
  readonly renew: boolean;
  /** 0: exactly one try. */
  readonly wait: number;
  readonly maxHold: number;
  readonly minHold: number;
  readonly maxWaiters: number;
  /** `false` for one key of several: their common token must stay below that of every later hold. */
  readonly handOff: boolean;
  readonly signal?: AbortSignal | undefined;
  /** What the key was made from, for those who watch: `order:<orderId>`. */
  readonly template?: string | undefined;
}
