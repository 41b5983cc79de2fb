/** For a client that is the store's own, and for one of its connections that only listens. */

/** ms after which a client connects again: soon, and for ever. */
export const retryStrategy = (attempt: number): number => Math.min(attempt * 100, 2_000);

export const OWN_CONNECTION = {
  // Nothing is sent on some of them for a long time, so that only a probe by the kernel notices that the other side has gone.
  keepAlive: 10_000,
  // It leaves a timer behind that keeps the process alive this long.
  disconnectTimeout: 200,
  // Whoever sent a command has given it up by then.
  autoResendUnfulfilledCommands: false,
} as const;

/** Of one that only listens, and is not bounded like requests are. */
export const LISTENING = {
  ...OWN_CONNECTION,
  lazyConnect: true,
  // Its own resubscription leaves a rejection unhandled when the connection ends meanwhile.
  autoResubscribe: false,
  enableOfflineQueue: true,
  maxRetriesPerRequest: null,
  socketTimeout: undefined,
  commandTimeout: undefined,
} as const;
