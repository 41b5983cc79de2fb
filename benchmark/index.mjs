/**
 * In the order in which they run; the file of each has `title`, `run(context)` and `print(result)`, and `oneCaller` where single calls
 * are measured.
 */
export const benchmarks = [
  'decorator',
  'redis',
  'redis-hot-key',
  'redis-failover',
  'redlock',
  'sqlite',
  'sqlite-hot-key',
  'postgres',
  'postgres-hot-key',
  'mysql',
  'etcd',
  'etcd-busy-key',
  'etcd-hot-key',
  'zookeeper',
  'zookeeper-hot-key',
  'leaks',
];

/** The servers that some of them need. */
export const serversOf = {
  redis: ['redis'],
  'redis-hot-key': ['redis'],
  'redis-failover': ['redis'],
  redlock: ['redlock'],
  postgres: ['postgres'],
  'postgres-hot-key': ['postgres'],
  mysql: ['mysql'],
  etcd: ['etcd'],
  'etcd-busy-key': ['etcd'],
  'etcd-hot-key': ['etcd'],
  zookeeper: ['zookeeper'],
  'zookeeper-hot-key': ['zookeeper'],
  leaks: ['redis'],
};
