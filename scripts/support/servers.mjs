import { startRedis, startRedisNodes } from './redis.mjs';
import { startSqlServer } from './sql-server.mjs';

/** Where locks can be: the server's program, how a private one is started, what its URL begins with, where one is named. */
export const SERVERS = {
  redis: { program: 'redis-server', start: startRedis, protocol: /^rediss?:/, variable: 'TEST_REDIS_URL' },
  redlock: {
    program: 'redis-server',
    start: () => startRedisNodes(3),
    protocol: /^redlock:/,
    variable: 'TEST_REDLOCK_URL',
  },
  postgres: {
    program: 'postgres',
    start: (options) => startSqlServer('postgres', options),
    protocol: /^postgres(ql)?:/,
    variable: 'TEST_POSTGRES_URL',
  },
  mysql: {
    program: 'mariadbd',
    start: (options) => startSqlServer('mysql', options),
    protocol: /^mysql:/,
    variable: 'TEST_MYSQL_URL',
  },
  etcd: {
    program: 'etcd',
    start: (options) => startSqlServer('etcd', options),
    protocol: /^https?:/,
    variable: 'TEST_ETCD_URL',
  },
  zookeeper: {
    program: 'zookeeper',
    start: (options) => startSqlServer('zookeeper', options),
    protocol: /^zookeeper:/,
    variable: 'TEST_ZOOKEEPER_URL',
  },
};
