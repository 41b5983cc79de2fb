export interface StormWorkerConfig {
  readonly redis: string;
  readonly keys: readonly string[];
}

/** How long a request waits for its lock, in ms. */
export const WAIT = 300;

/** What an instance has left when nobody asks for anything any more. */
export interface StormReport {
  /** What the engine knows of: none of them once all is done. */
  readonly engine: {
    readonly lanes: number;
    readonly holds: number;
    readonly contending: number;
    readonly releases: number;
  };
  /** Keys that somebody holds or queues for. */
  readonly taken: readonly string[];
  readonly bodies: { readonly begun: number; readonly ended: number };
  /** Clients that have gone: while their request waited for its lock, while its body ran, and before a body that began all the same. */
  readonly gone: { readonly waiting: number; readonly inBody: number; readonly before: number };
  /** Answers that something still refers to, and with them their requests, scopes and listeners. */
  readonly answersAlive: number;
  /** Sockets and timers that keep the process alive. */
  readonly resources: Readonly<Record<string, number>>;
  /** The most listeners that one event of an open client connection has. */
  readonly listeners: number;
  readonly warnings: readonly string[];
  /** Bytes, after a garbage collection. */
  readonly heap: number;
}
