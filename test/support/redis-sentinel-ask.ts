import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

// How long any one thing may take that a set does by itself.
const PATIENCE = 30_000;

/** One command on a connection of its own, past all proxies. Bounded in time. */
export async function ask(port: number, command: string, ...args: readonly string[]): Promise<unknown> {
  const client = new Redis({
    port,
    lazyConnect: true,
    connectTimeout: 1_000,
    commandTimeout: 1_000,
    enableReadyCheck: false,
    retryStrategy: () => null,
    disconnectTimeout: 100,
  });
  client.on('error', () => undefined);
  try {
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/** Asks until the answer is yes; an error is a no. */
export async function eventually(what: string, condition: () => Promise<boolean>, more = () => ''): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  let last: unknown;
  while (!(await condition().catch((error: unknown) => ((last = error), false)))) {
    if (performance.now() > deadline)
      throw new Error(`waited ${PATIENCE} ms in vain for ${what}${more()}`, { cause: last });
    await sleep(50);
  }
}
