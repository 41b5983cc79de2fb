import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import Database from 'better-sqlite3';
import { ShopConfig } from '../shop.config.js';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS stock (
    item  TEXT PRIMARY KEY,
    left  INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS orders (
    purchase_id TEXT PRIMARY KEY,
    item        TEXT NOT NULL,
    sold_by     TEXT NOT NULL
  );
`;

/** The shop's data: one SQLite file for all instances. */
@Injectable()
export class ShopDatabase implements OnApplicationShutdown {
  private readonly connection: Database.Database;

  constructor({ file }: ShopConfig) {
    this.connection = new Database(file);
    this.connection.pragma('journal_mode = WAL');
    this.connection.pragma('synchronous = NORMAL');
    this.connection.exec(SCHEMA);
  }

  prepare<P extends unknown[], R = unknown>(sql: string): Database.Statement<P, R> {
    return this.connection.prepare<P, R>(sql);
  }

  /** All of it or nothing, also when the process is killed in the middle. */
  transaction(work: () => void): void {
    this.connection.transaction(work).immediate();
  }

  onApplicationShutdown(): void {
    this.connection.close();
  }
}
