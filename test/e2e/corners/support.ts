import { expect } from '@jest/globals';
import type { DynamicModule, INestApplicationContext, LoggerService } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockModule, LockService, type LockModuleOptions } from '../../../lib/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

/** A lock module on a store of its own, quick to give up. */
export function lockModule(options: Partial<LockModuleOptions> = {}): DynamicModule {
  return LockModule.forRoot({
    store: memoryStore(),
    wait: '2s',
    instance: 'holder-1',
    ...options,
  } as LockModuleOptions);
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 300 && !(await condition()); i += 1) await sleep(10);
  expect(await condition()).toBe(true);
}

/** What tests ask of a key. */
export function keysOf(app: INestApplicationContext) {
  const locks = app.get(LockService);
  return {
    free: async (key: string) => (await locks.inspect(key)) === undefined,
    waiting: async (key: string) => (await locks.inspect(key))?.localWaiters ?? 0,
  };
}

/** Counts how many bodies run at once. */
export class Gauge {
  runs = 0;
  most = 0;
  #running = 0;

  async run(ms = 20): Promise<void> {
    this.runs += 1;
    this.#running += 1;
    this.most = Math.max(this.most, this.#running);
    await sleep(ms);
    this.#running -= 1;
  }
}

/** Says nothing, and keeps what was logged as an error. */
export class ErrorLog implements LoggerService {
  readonly errors: unknown[] = [];
  log(): void {}
  warn(): void {}
  error(message: unknown): void {
    this.errors.push(message);
  }
}
