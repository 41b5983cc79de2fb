const INTERVAL = 60_000;
const INTERVAL_WHILE_MORE = 1_000;

/** Sweeps on the occasion of calls, at most once a minute, so that an idle process does nothing. Never rejects. */
export class TableSweeper {
  #next = 0;

  constructor(private readonly sweep: () => Promise<boolean>) {}

  occasion(): void {
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + INTERVAL;
    this.sweep().then(
      (more) => {
        if (more) this.#next = performance.now() + INTERVAL_WHILE_MORE;
      },
      // Another call is another occasion, and whoever needs the server hears of it.
      () => undefined,
    );
  }
}
