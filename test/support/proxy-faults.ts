import type { ConformanceHooks } from '../../lib/testing/index.js';
import type { TcpProxy } from './tcp-proxy.js';

/** A server of one's own that can be frozen. */
export interface PausableServer {
  pause(): void | Promise<void>;
  resume(): void;
}

/** The faults that a proxy can cause in front of any server. Without a server of one's own, the proxy plays a frozen one. */
export function proxyFaults(proxy: TcpProxy, server: PausableServer | undefined): Omit<ConformanceHooks, 'loseData'> {
  const heal = (): void => proxy.heal();
  return {
    pauseServer: async () => {
      if (server === undefined) proxy.blackHole();
      else await server.pause();
      return () => (server === undefined ? heal() : server.resume());
    },
    refuseConnections: () => {
      proxy.cut();
      return heal;
    },
    breakConnections: () => proxy.cut({ refuse: false }),
    dropReplies: () => {
      proxy.dropReplies();
      return () => {
        // TCP never leaves a hole in a stream: a connection whose answers were lost is lost itself.
        proxy.cut({ refuse: false });
        proxy.heal();
      };
    },
  };
}
