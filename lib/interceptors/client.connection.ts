import type { ExecutionContext } from '@nestjs/common';

/** What an HTTP response is, over HTTP/1 and HTTP/2, or whatever else closes when the client has gone. */
interface Connection {
  readonly writableEnded?: boolean;
  readonly writableFinished?: boolean;
  readonly destroyed?: boolean;
  /** Streams of HTTP/2 only. */
  readonly aborted?: boolean;
  /** HTTP/2 only, whose response does not say itself that it is gone. */
  readonly stream?: { readonly destroyed?: boolean };
  /** Sockets only, which serve other requests too. */
  readonly remoteAddress?: string;
  once(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

/** Fastify's requests and replies wrap Node's. */
interface Wrapped<T> {
  readonly raw?: T;
}

interface GraphqlContext {
  readonly res?: Connection & Wrapped<Connection>;
  readonly reply?: Wrapped<Connection>;
  /** All that there is where the application makes no context of its own. */
  readonly req?: Wrapped<{ readonly stream?: Connection }> & {
    readonly res?: Connection;
    readonly socket?: Connection;
  };
}

interface Listeners {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const byConnection = new WeakMap<Connection, Listeners>();

/**
 * Calls back when the HTTP client of a call is gone before it was answered; at once, if it is already. However many
 * resolvers of a request ask, its connection has one listener: Node warns of a leak above ten.
 *
 * @returns a function that ends it, or `undefined` where there is nothing to listen to
 */
export function onClientGone(context: ExecutionContext, callback: () => void): (() => void) | undefined {
  const connection = connectionOf(context);
  if (typeof connection?.once !== 'function') return undefined;
  if (connection.destroyed === true || connection.stream?.destroyed === true) {
    if (!wasAnswered(connection)) callback();
    return undefined;
  }
  const { callbacks, listener } = byConnection.get(connection) ?? listen(connection);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    connection.removeListener('close', listener);
    byConnection.delete(connection);
  };
}

function listen(connection: Connection): Listeners {
  const callbacks = new Set<() => void>();
  const listener = () => {
    if (wasAnswered(connection)) return;
    for (const callback of [...callbacks]) callback();
  };
  const listeners = { callbacks, listener };
  connection.once('close', listener);
  byConnection.set(connection, listeners);
  return listeners;
}

/** What is cut off counts as finished over HTTP/2; what nobody has ended was not answered. */
function wasAnswered(connection: Connection): boolean {
  const { writableEnded, writableFinished, aborted } = connection;
  return writableEnded === true && writableFinished === true && aborted !== true && !('remoteAddress' in connection);
}

function connectionOf(context: ExecutionContext): Connection | undefined {
  switch (context.getType<string>()) {
    case 'http': {
      const response = context.switchToHttp().getResponse<Connection & Wrapped<Connection>>();
      return response.raw ?? response;
    }
    case 'graphql': {
      const { res, reply, req } = context.getArgByIndex<GraphqlContext | undefined>(2) ?? {};
      return res?.raw ?? res ?? reply?.raw ?? req?.res ?? req?.raw?.stream ?? req?.socket;
    }
    default:
      return undefined;
  }
}
