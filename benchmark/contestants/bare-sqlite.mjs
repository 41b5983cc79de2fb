import Database from 'better-sqlite3';
import { randomBytes } from 'node:crypto';

/** The least that a lock in SQLite can do: one row in, one row out. It cannot wait, nor does it expire. */
export async function bareSqlite({ sqliteFile }) {
  const database = new Database(`${sqliteFile}-bare`);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.exec('CREATE TABLE IF NOT EXISTS lock (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID');
  const insert = database.prepare('INSERT OR IGNORE INTO lock VALUES (?, ?)');
  const remove = database.prepare('DELETE FROM lock WHERE key = ? AND owner = ?');
  return {
    async withLock(key, body) {
      const owner = randomBytes(16).toString('hex');
      if (insert.run(key, owner).changes === 0) throw new Error(`${key} is taken`);
      try {
        return await body();
      } finally {
        remove.run(key, owner);
      }
    },
    close: async () => database.close(),
  };
}
