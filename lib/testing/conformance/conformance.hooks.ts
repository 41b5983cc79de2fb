/** Why a fault cannot be caused. Said in so many words, so that no fault is left out by mistake. */
export type NotApplicable = `not applicable: ${string}`;

/** A fault that the suite can cause, or why there is no such thing. */
export type Hook<T> = T | NotApplicable;

/** Ends a fault. */
export type EndFault = () => Promise<void> | void;

/** Faults of the backend. All act on every store that was created, and on those created while they last. */
export interface ConformanceHooks {
  /** The server stops answering, as under SIGSTOP; connections stay open. Its clock runs on. */
  readonly pauseServer: Hook<() => Promise<EndFault> | EndFault>;
  /** The server cannot be reached, connections are refused. Its data are still there when the fault ends. */
  readonly refuseConnections: Hook<() => Promise<EndFault> | EndFault>;
  /** Every connection is closed once. New ones are accepted. */
  readonly breakConnections: Hook<() => Promise<void> | void>;
  /** Requests arrive and are carried out; their answers are not delivered. Its end closes the connections that it hit. */
  readonly dropReplies: Hook<() => Promise<EndFault> | EndFault>;
  /** The server restarts without its data. */
  readonly loseData: Hook<() => Promise<void> | void>;
}

export function isApplicable<T>(hook: T | NotApplicable): hook is T {
  return typeof hook !== 'string';
}
