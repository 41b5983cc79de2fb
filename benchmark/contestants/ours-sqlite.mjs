import { sqliteStore } from 'nestjs-distributed-lock/sqlite';
import { locksApp } from '../support/locks-app.mjs';

export async function oursSqlite({ sqliteFile }) {
  const { locks, close } = await locksApp(sqliteStore({ filename: sqliteFile }));
  return { withLock: (key, body) => locks.withLock(key, body), close };
}
