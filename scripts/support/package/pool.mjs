/** Runs at most `size` pieces of work at a time; what came first goes first. */
export function createPool(size) {
  const queue = [];
  let running = 0;

  function next() {
    if (running >= size || queue.length === 0) return;
    running += 1;
    const { work, resolve } = queue.shift();
    // `resolve` takes over what the work comes to, an error too.
    const result = work();
    resolve(result);
    const ended = () => {
      running -= 1;
      next();
    };
    result.then(ended, ended);
  }

  return (work) =>
    new Promise((resolve) => {
      queue.push({ work, resolve });
      next();
    });
}
