import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('redis-sentinel.process.mjs', import.meta.url));

/**
 * Starts a master, two replicas and three sentinels in a process of their own.
 *
 * @returns where the sentinels are, and what can be done to the set: see `calls` there
 */
export async function startRedisSentinel() {
  const child = fork(program, { execArgv: ['--import', 'tsx'], stdio: ['ignore', 2, 2, 'ipc'] });
  const waiting = new Map();
  let last = 0;
  const answer = (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  child.on('message', ({ id, value, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(new Error(error));
    else resolve(value);
  });
  child.once('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the sentinels ended with ${code}`));
  });
  const call = (name, ...args) => {
    child.send({ id: (last += 1), name, args });
    return answer(last);
  };
  const { sentinels, name } = await answer(0);
  return {
    sentinels,
    name,
    call,
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
