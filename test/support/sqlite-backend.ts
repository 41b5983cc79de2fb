import { mkdtempSync, renameSync, rmSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { ConformanceHooks } from '../../lib/testing/index.js';

/** A database file in a folder of its own: what the conformance suite and the fault tests break. */
export class SqliteBackend {
  readonly #root = mkdtempSync(join(tmpdir(), 'sqlite-test-'));
  readonly #folder = mkdtempSync(join(this.#root, 'data-'));
  readonly filename = join(this.#folder, 'locks.db');

  /** Keeps every other connection from writing until the function that it returns is called. */
  block(timeout = 1_000): () => void {
    const database = new Database(this.filename, { timeout });
    try {
      database.exec('BEGIN IMMEDIATE');
    } catch (error) {
      database.close();
      throw error;
    }
    return () => database.close();
  }

  hooks(): ConformanceHooks {
    return {
      // The nearest thing to a server that does not answer: somebody else's transaction that does not end.
      pauseServer: () => this.block(),
      refuseConnections: () => {
        const away = join(this.#root, 'away');
        renameSync(this.#folder, away);
        return () => renameSync(away, this.#folder);
      },
      breakConnections: 'not applicable: there is no connection between a process and a file',
      dropReplies: 'not applicable: a transaction has either happened or thrown',
      loseData: () => readdirSync(this.#folder).forEach((file) => rmSync(join(this.#folder, file))),
    };
  }

  stop(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
