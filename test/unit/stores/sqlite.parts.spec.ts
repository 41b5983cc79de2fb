import { describe, expect, it, jest } from '@jest/globals';
import { LockOptionsError, LockUnavailableError } from '../../../lib/errors/index.js';
import { loadDriver } from '../../../lib/stores/sqlite/load-driver.js';
import { pollDelay } from '../../../lib/stores/sqlite/poll-delay.js';
import { retryWhileBusy } from '../../../lib/stores/sqlite/retry-while-busy.js';
import { isBusy, resultCode, toLockError } from '../../../lib/stores/sqlite/sqlite.errors.js';

const failure = (code: string) => Object.assign(new Error(code), { code });
const nodeFailure = (errcode: number) => Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode });

describe('errors of the drivers', () => {
  it('are told by their primary code, whichever driver they come from', () => {
    expect(resultCode(failure('SQLITE_BUSY_SNAPSHOT'))).toBe('SQLITE_BUSY');
    expect(resultCode(failure('SQLITE_READONLY'))).toBe('SQLITE_READONLY');
    // SQLITE_BUSY_RECOVERY and SQLITE_READONLY_DIRECTORY
    expect(resultCode(nodeFailure(261))).toBe('SQLITE_BUSY');
    expect(resultCode(nodeFailure(1544))).toBe('SQLITE_READONLY');
    expect(resultCode(failure('ENOENT'))).toBeUndefined();
    expect(resultCode(undefined)).toBeUndefined();
  });

  it('count as busy only when another connection is in the way', () => {
    expect(['SQLITE_BUSY', 'SQLITE_LOCKED', 'SQLITE_PROTOCOL'].every((code) => isBusy(failure(code)))).toBe(true);
    expect(['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_ERROR'].some((code) => isBusy(failure(code)))).toBe(false);
  });

  it.each(['SQLITE_NOTADB', 'SQLITE_CORRUPT_INDEX', 'SQLITE_READONLY_DBMOVED', 'SQLITE_PERM', 'SQLITE_AUTH'])(
    '%s is final, and keeps its cause',
    (code) => {
      const cause = failure(code);
      expect(toLockError(cause, '/tmp/a.db')).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false, cause });
    },
  );

  it('a full disk or a failed read may pass', () => {
    expect(toLockError(failure('SQLITE_FULL'), '/tmp/a.db')).toMatchObject({ retryable: true });
    expect(toLockError(failure('SQLITE_IOERR_READ'), '/tmp/a.db')).toMatchObject({ retryable: true });
  });

  it('an error of ours is passed on as it is', () => {
    const error = new LockUnavailableError('x');
    expect(toLockError(error, '/tmp/a.db')).toBe(error);
  });
});

describe('retrying while another connection is in the way', () => {
  it('lets the event loop turn between two tries and returns what the first success gives', async () => {
    let tries = 0;
    let turns = 0;
    const spin = setInterval(() => (turns += 1), 1);
    const result = await retryWhileBusy(
      () => {
        tries += 1;
        if (tries < 8) throw failure('SQLITE_BUSY');
        return 'done';
      },
      1_000,
      'a.db',
    );
    clearInterval(spin);
    expect([result, tries]).toEqual(['done', 8]);
    expect(turns).toBeGreaterThan(2);
  });

  it('gives up after the timeout, as unavailable and with the cause', async () => {
    const start = performance.now();
    const cause = failure('SQLITE_BUSY');
    const trying = retryWhileBusy(() => fail(cause), 60, 'a.db');
    await expect(trying).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true, cause });
    expect(performance.now() - start).toBeGreaterThanOrEqual(60);
    expect(performance.now() - start).toBeLessThan(400);
  });

  it('does not repeat what failed for another reason', async () => {
    const work = jest.fn(() => fail(failure('SQLITE_FULL')));
    await expect(retryWhileBusy(work, 1_000, 'a.db')).rejects.toMatchObject({ code: 'SQLITE_FULL' });
    expect(work).toHaveBeenCalledTimes(1);
  });
});

describe('how long a waiter sleeps between two looks', () => {
  const refused = (ahead: number, remaining?: number) =>
    ({ granted: false, ahead, holder: remaining === undefined ? undefined : { remaining } }) as const;
  const rules = { pollInterval: 20, waiting: 1, ticketLife: 1_000 };

  it('is the poll interval, give or take a quarter, for the first in the queue', () => {
    for (let i = 0; i < 50; i += 1) {
      const delay = pollDelay(refused(0, 30_000), rules);
      expect(delay).toBeGreaterThanOrEqual(15);
      expect(delay).toBeLessThanOrEqual(25);
    }
  });

  it('grows with the place in the queue, but never so far that the ticket would lapse', () => {
    expect(pollDelay(refused(4, 30_000), rules)).toBeGreaterThanOrEqual(75);
    expect(pollDelay(refused(1_000, 30_000), rules)).toBe(250);
  });

  it('ends with the lease of the holder', () => {
    expect(pollDelay(refused(3, 5), rules)).toBe(6);
    expect(pollDelay(refused(0, 0.2), rules)).toBeLessThan(2);
  });

  it('grows when a process waits for very many keys', () => {
    expect(pollDelay(refused(0, 30_000), { ...rules, waiting: 1_000 })).toBeGreaterThanOrEqual(150);
  });
});

describe('the driver', () => {
  it('is better-sqlite3 where that is installed', async () => {
    const { default: Database } = await import('better-sqlite3');
    expect(await loadDriver(undefined)).toBe(Database);
    expect(await loadDriver('better-sqlite3')).toBe(Database);
  });

  it('may be a class of the user', async () => {
    class Own {}
    expect(await loadDriver(Own as never)).toBe(Own);
  });

  it('node:sqlite is refused where Node has none, naming the version that has', async () => {
    const had = process.getBuiltinModule;
    process.getBuiltinModule = () => undefined;
    try {
      await expect(loadDriver('node:sqlite')).rejects.toBeInstanceOf(LockOptionsError);
      await expect(loadDriver('node:sqlite')).rejects.toThrow(/Node 22\.13/);
    } finally {
      process.getBuiltinModule = had;
    }
  });
});

function fail(error: unknown): never {
  throw error;
}
