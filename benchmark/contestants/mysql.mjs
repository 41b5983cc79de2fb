import { createHash, randomBytes } from 'node:crypto';
import mysql from 'mysql2/promise';
import { mysqlStore } from 'nestjs-distributed-lock/mysql';
import { locksApp } from '../support/locks-app.mjs';

/** The least that a lock table can do, on a warm pool: one upsert, one delete. */
export async function bareMysqlRows({ mysqlUrl }) {
  const pool = mysql.createPool(mysqlUrl);
  await pool.query(
    'CREATE TABLE IF NOT EXISTS bare_lock (lock_key BINARY(32) PRIMARY KEY, owner CHAR(32), expires_at DATETIME(6))',
  );
  return {
    async withLock(key, body) {
      const values = [createHash('sha256').update(key).digest(), randomBytes(16).toString('hex')];
      await pool.execute(
        `INSERT INTO bare_lock VALUES (?, ?, SYSDATE(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE
          owner = IF(expires_at <= SYSDATE(6), VALUES(owner), owner)`,
        values,
      );
      try {
        return await body();
      } finally {
        await pool.execute('DELETE FROM bare_lock WHERE lock_key = ? AND owner = ?', values);
      }
    },
    close: () => pool.end(),
  };
}

/** A bare `GET_LOCK` and `RELEASE_LOCK` on one warm connection. */
export async function bareNamed({ mysqlUrl }) {
  const connection = await mysql.createConnection(mysqlUrl);
  return {
    async withLock(key, body) {
      const name = createHash('sha256').update(key).digest('hex');
      await connection.execute('SELECT GET_LOCK(?, 5)', [name]);
      try {
        return await body();
      } finally {
        await connection.execute('SELECT RELEASE_LOCK(?)', [name]);
      }
    },
    close: () => connection.end(),
  };
}

export const oursMysql =
  (mode) =>
  async ({ mysqlUrl }) => {
    const { locks, close } = await locksApp(mysqlStore({ connection: mysqlUrl, mode }));
    return { withLock: (key, body) => locks.withLock(key, body), close };
  };
