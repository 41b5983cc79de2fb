/** In the order in which they run; the file of each has `title`, `run(context)` and `print(result)`. */
export const benchmarks = ['decorator', 'redis', 'redis-hot-key', 'sqlite', 'sqlite-hot-key', 'leaks'];

/** Those that need a redis-server. */
export const onRedis = ['redis', 'redis-hot-key', 'leaks'];
