// Longer than anything is awaited, and no longer than a timer can be.
const FOR_EVER = 2 ** 31 - 1;

/**
 * Keeps the process alive until `promise` has settled. Node ends a process, with the exit code 0, when all that is left are timers that do not,
 * such as the bounds of requests: a client that nobody has connected would end an application in the middle of its start, without a word.
 */
export function awaited<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, FOR_EVER);
  return promise.finally(() => clearInterval(timer));
}
