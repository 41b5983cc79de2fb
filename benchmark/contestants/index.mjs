import { bareEtcd, etcd3Lock, etcdctlLock, oursEtcd } from './etcd.mjs';
import { bareRedis } from './bare-redis.mjs';
import { bareSqlite } from './bare-sqlite.mjs';
import { bareMysqlRows, bareNamed, oursMysql } from './mysql.mjs';
import { oursSqlite } from './ours-sqlite.mjs';
import { ours } from './ours.mjs';
import { bareAdvisory, barePostgresRows, oursPostgres } from './postgres.mjs';
import { redisSemaphore } from './redis-semaphore.mjs';
import { redlock } from './redlock.mjs';
import { bareQuorum, oursRedlock, redlockOfThree } from './redlock-quorum.mjs';
import { bareZookeeper, oursZookeeper } from './zookeeper.mjs';

/** Each makes `{ withLock(key, body), close() }`. */
export const contestants = {
  'bare pair': bareRedis,
  ours,
  redlock,
  'redis-semaphore': redisSemaphore,
  'bare quorum': bareQuorum,
  'ours (redlock)': oursRedlock,
  'redlock, three nodes': redlockOfThree,
  'bare rows': bareSqlite,
  'ours (sqlite)': oursSqlite,
  'bare upsert and delete (postgres)': barePostgresRows,
  'ours (postgres table)': oursPostgres('table'),
  'bare advisory pair (postgres)': bareAdvisory,
  'ours (postgres advisory)': oursPostgres('advisory'),
  'ours (postgres row)': oursPostgres('row'),
  'bare upsert and delete (mysql)': bareMysqlRows,
  'ours (mysql table)': oursMysql('table'),
  'bare named pair (mysql)': bareNamed,
  'ours (mysql named)': oursMysql('named'),
  'ours (mysql row)': oursMysql('row'),
  'bare put and delete (etcd)': bareEtcd,
  'ours (etcd)': oursEtcd,
  'Lock of etcd3': etcd3Lock,
  'etcdctl lock': etcdctlLock,
  'bare create, read and delete (zookeeper)': bareZookeeper,
  'ours (zookeeper)': oursZookeeper,
};
