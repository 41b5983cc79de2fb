// A Redis behind Sentinel with a process to itself, so that its proxies do not wait for those who lock. Needs `--import tsx`.
import { RedisSentinel } from '../../test/support/redis-sentinel.ts';

const set = await RedisSentinel.start({ downAfter: 500 });

const calls = {
  /** The master's process, for whoever kills it at a moment of its own choice. */
  async master() {
    const { server } = await set.master();
    return server.pid;
  },
  /** To be called when the master has been killed: waits for its successor. The new replicas keep up. */
  async replaced() {
    const dead = await set.killMaster();
    set.lag(0);
    await set.promoted(dead);
  },
  /** ms; `null`: for ever. */
  lag: (delay) => set.lag(delay ?? Infinity),
  heal: () => set.heal(),
};

process.on('message', async ({ id, name, args }) => {
  try {
    process.send({ id, value: await calls[name](...args) });
  } catch (error) {
    process.send({ id, error: error.stack });
  }
});
process.once('disconnect', () => void set.stop().finally(() => process.exit()));
process.send({ id: 0, value: { sentinels: set.sentinels, name: set.name } });
