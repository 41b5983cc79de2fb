import type { ClientCalls } from './zookeeper.client.js';

/** The insides of node-zookeeper-client 1.1 that are mended. */
interface Manager {
  state: number;
  pendingBuffer: Buffer | null | undefined;
  connectTimeoutHandler: NodeJS.Timeout | null;
  readonly pendingQueue: readonly { readonly callback?: (error: unknown) => void }[];
  readonly socket?: { destroy(error?: Error): unknown };
  onSocketData(chunk: Buffer): void;
  onSocketConnected(): void;
  connect(): void;
  on(event: 'state', listener: (state: number) => void): unknown;
}

const CONNECTING = 1;
const CLOSING = -1;
const LENGTH = 4;
const NOTHING = Buffer.alloc(0);

/**
 * Mends what would break a process, in a client of the store's own:
 *
 * - a code that the library does not know (a quota, throttling) throws out of its socket's listener, which ends the process: it becomes
 *   the error of the request that it answers;
 * - each frame of a chunk is read one call deeper, so that some thousands of short answers at once overflow the stack: they are read in a loop;
 * - a frame that was cut off with its connection is taken for the beginning of the next connection's first: it is dropped.
 */
export function mend(client: ClientCalls): void {
  const manager = client.connectionManager as unknown as Manager;
  const readFrame = manager.onSocketData.bind(manager);
  let reading = false;
  manager.onSocketData = (chunk) => {
    if (reading) return;
    reading = true;
    try {
      read(manager, readFrame, chunk);
    } finally {
      reading = false;
    }
  };
  manager.on('state', (state) => {
    if (state === CONNECTING) manager.pendingBuffer = null;
  });
}

function read(manager: Manager, readFrame: (chunk: Buffer) => void, chunk: Buffer): void {
  for (let rest = chunk; ; rest = NOTHING) {
    const request = manager.pendingQueue[0];
    try {
      readFrame(rest);
    } catch (error) {
      if (request === undefined || request === manager.pendingQueue[0]) manager.socket?.destroy(error as Error);
      else request.callback?.(error);
    }
    const { pendingBuffer } = manager;
    if (!pendingBuffer || pendingBuffer.length < LENGTH) return;
    if (pendingBuffer.length < LENGTH + pendingBuffer.readInt32BE(0)) return;
  }
}

/**
 * Ends a client for good, whatever it is doing: closing it while it is not connected throws, or has it connect once more.
 */
export function kill(client: ClientCalls): void {
  const manager = client.connectionManager as unknown as Manager;
  manager.connect = () => undefined;
  manager.onSocketConnected = () => manager.socket?.destroy();
  // In this state the end of the connection is the end.
  manager.state = CLOSING;
  clearTimeout(manager.connectTimeoutHandler ?? undefined);
  manager.socket?.destroy();
}
