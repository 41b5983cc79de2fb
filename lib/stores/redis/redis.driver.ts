/** What happens to a connection while somebody waits for it. */
export interface ConnectionListener {
  readonly ready: () => void;
  /** It is closed, and will not come back by itself. */
  readonly ended: () => void;
  readonly failed: (error: unknown) => void;
}

/** The one connection on which a process hears its wake-up messages. Ours to close. Connects at its first use. */
export interface RedisSubscriber {
  /** Called when the connection has failed, and with each try to connect anew that fails. */
  onTrouble?: (() => void) | undefined;
  /** Settles when the server has confirmed. Subscribes anew by itself after a reconnect. */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  destroy(): void;
}

/** One node, on one connection at a time: what is sent is carried out in its order. */
export interface RedisNode {
  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Any command that names no key. */
  command(...args: readonly string[]): Promise<unknown>;
}

/**
 * What the store needs of a client library. One implementation for each family, with nothing in it but the calls'
 * translation: bounds, errors and retries are {@link RedisConnection}'s.
 */
export interface RedisDriver extends Pick<RedisNode, 'evalsha' | 'eval'> {
  /** Whether keys are spread over nodes by their slots. */
  readonly clustered: boolean;
  /** Whether what is sent is carried out in its order. Libraries that follow a master from node to node send again what has failed. */
  readonly ordered: boolean;
  /** Where it connects to, for messages: never a user name or password. */
  readonly address: string;
  /** The library's own word for the connection's state, for messages. */
  readonly status: string;
  /** Whether a command would be sent now instead of being queued in the client. */
  readonly ready: boolean;
  /** Whether it is closed and will not connect by itself. */
  readonly ended: boolean;
  /** What to do about `ended`, for messages. */
  readonly advice: string;

  /** What its client is set up like that locks may be lost by, and the fix. */
  readonly warning?: string | undefined;

  /** Connects a client that was told to wait until it is used. */
  start(): void;
  /** Returns a function that takes the listener away again. */
  listen(listener: ConnectionListener): () => void;
  /** The node that has `key`, as far as is known. */
  node(key: string): Promise<RedisNode>;
  /** A node has said that it does not have the slot of a key: find out which one does. */
  relocate?(key: string): void;
  /** A connection of its own, with the same credentials. */
  subscriber(): RedisSubscriber;
  /** Says goodbye. Called only on a client that is ours. */
  quit(): Promise<unknown>;
  /** Closes at once. Called only on a client that is ours. */
  destroy(): void;
}
