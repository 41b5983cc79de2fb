/** Numbers that look random and come again with the same seed (mulberry32). */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }
}

/** FAULT_SEED, or a new one. */
export function faultSeed(): number {
  const given = process.env['FAULT_SEED'];
  return given ? Number(given) : Math.floor(Math.random() * 2 ** 31);
}

/** How long one run of faults lasts, in ms: FAULT_SECONDS, or `normal`. */
export function faultDuration(normal: number): number {
  const given = process.env['FAULT_SECONDS'];
  return given ? Number(given) * 1_000 : normal;
}
