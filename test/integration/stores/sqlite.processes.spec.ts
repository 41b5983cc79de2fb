import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { nodeRuntime } from '../../support/node-runtime.js';
import { Fleet, type Member, type Turn } from './sqlite.fleet.js';

let folder: string;
let filename: string;
let counter: string;
let fleet: Fleet;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-sqlite-'));
  filename = join(folder, 'locks.db');
  counter = join(folder, 'counter');
  writeFileSync(counter, '0');
  fleet = new Fleet();
});

afterEach(async () => {
  await fleet.end();
  rmSync(folder, { recursive: true, force: true });
});

const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

function expectOneAfterTheOther(turns: readonly Turn[]): void {
  const inOrder = [...turns].sort((one, other) => one.acquired - other.acquired);
  for (const [index, turn] of inOrder.entries()) {
    const before = inOrder[index - 1];
    if (before === undefined) continue;
    expect(turn.acquired).toBeGreaterThanOrEqual(before.released);
    expect(turn.fence).toBeGreaterThan(before.fence);
  }
  expect(readFileSync(counter, 'utf8')).toBe(String(turns.length));
}

/** Waits until so many queue for the key. */
async function queued(by: Member, key: string, waiters: number): Promise<void> {
  const until = now() + 5_000;
  while ((await by.inspect(key))?.waiters !== waiters) {
    if (now() > until) throw new Error(`${waiters} did not queue for "${key}"`);
    await sleep(5);
  }
}

describe('processes that share an SQLite file', () => {
  it('never overlap, lose no update, and get strictly increasing fences', async () => {
    const members = await fleet.startAll(4, { filename });
    const race = { key: 'stock', counter, times: 50, hold: 1, pause: 0 };
    const turns = await Promise.all(members.map((member) => member.race(race)));
    expectOneAfterTheOther(turns.flat());
  }, 60_000);

  it('hand over within milliseconds', async () => {
    const members = await fleet.startAll(3, { filename });
    const race = { key: 'stock', counter, times: 40, hold: 5, pause: 0 };
    const turns = (await Promise.all(members.map((member) => member.race(race)))).flat();
    turns.sort((one, other) => one.fence - other.fence);
    const gaps = turns.slice(1).map((turn, index) => turn.acquired - turns[index]!.released);
    gaps.sort((one, other) => one - other);
    // Half a millisecond on an idle machine; the poll alone would take ten.
    expect(gaps[Math.floor(gaps.length / 2)]).toBeLessThan(8);
  }, 60_000);

  it('are served in the order in which they came, and nobody overtakes', async () => {
    const members = await fleet.startAll(5, { filename });
    const [holder, ...others] = members as [Member, ...Member[]];
    await holder.acquire('k');
    const granted: number[] = [];
    const turns = [];
    for (const [number, member] of others.entries()) {
      turns.push(
        member.acquire('k').then(async () => {
          granted.push(number);
          await sleep(20);
          await member.release('k');
        }),
      );
      await queued(holder, 'k', number + 1);
    }
    await holder.release('k');
    expect(await holder.acquire('k', { wait: false })).toMatchObject({ acquired: false });
    await holder.acquire('k');
    expect(granted).toEqual([0, 1, 2, 3]);
    await Promise.all(turns);
  }, 60_000);

  it('take over from a killed holder within its ttl and a second', async () => {
    const [holder, waiter] = (await fleet.startAll(2, { filename })) as [Member, Member];
    const first = await holder.acquire('k', { ttl: 1_500 });
    const waiting = waiter.acquire('k');
    await queued(waiter, 'k', 1);
    await holder.kill();
    const next = await waiting;
    expect(next.at - first.at).toBeGreaterThanOrEqual(first.left);
    expect(next.at - first.at).toBeLessThan(2_500);
    expect(next.fence).toBeGreaterThan(first.fence);
  }, 60_000);

  it('are not held up for long by a waiter that was killed', async () => {
    const [holder, killed, waiter] = (await fleet.startAll(3, { filename })) as [Member, Member, Member];
    await holder.acquire('k');
    killed.acquire('k').catch(() => undefined);
    await queued(holder, 'k', 1);
    const waiting = waiter.acquire('k');
    await queued(holder, 'k', 2);
    await killed.kill();
    const released = now();
    await holder.release('k');
    expect((await waiting).at - released).toBeLessThan(1_500);
  }, 60_000);

  it('are not held up at all by a waiter that gave up', async () => {
    const [holder, leaver, waiter] = (await fleet.startAll(3, { filename })) as [Member, Member, Member];
    await holder.acquire('k');
    const left = leaver.acquire('k').catch(() => 'left');
    await queued(holder, 'k', 1);
    const waiting = waiter.acquire('k');
    await queued(holder, 'k', 2);
    await leaver.stopWaiting('k');
    expect(await left).toBe('left');
    const released = now();
    await holder.release('k');
    expect((await waiting).at - released).toBeLessThan(300);
  }, 60_000);

  it('take the key from a stopped holder, which cannot release or renew its successor', async () => {
    const [holder, waiter] = (await fleet.startAll(2, { filename })) as [Member, Member];
    const first = await holder.acquire('k', { ttl: 1_000 });
    holder.process.kill('SIGSTOP');
    const next = await waiter.acquire('k');
    expect(next.at - first.at).toBeGreaterThanOrEqual(first.left);
    holder.process.kill('SIGCONT');
    expect(await holder.renew('k', 1_000)).toBe('lost');
    expect(await holder.release('k')).toBe(false);
    expect(await waiter.inspect('k')).toMatchObject({ fence: next.fence, label: `worker:${waiter.process.pid}` });
    expect(await waiter.release('k')).toBe(true);
  }, 60_000);

  it('lose nothing when one of them is killed again and again in the middle of its work', async () => {
    const [survivor] = (await fleet.startAll(1, { filename })) as [Member];
    const race = { key: 'other', counter, times: 10_000, hold: 0, pause: 0 };
    for (let round = 0; round < 4; round += 1) {
      const victim = await fleet.start({ filename });
      victim.race(race).catch(() => undefined);
      await sleep(50 + Math.random() * 50);
      await victim.kill();
      const granted = await survivor.acquire('k', { wait: false });
      expect(granted).toMatchObject({ acquired: true });
      expect(await survivor.release('k')).toBe(true);
    }
  }, 60_000);

  it('stay alive while they wait, although nothing else keeps them', async () => {
    const script = join(folder, 'alone.mjs');
    writeFileSync(
      script,
      `import { sqliteStore } from '${process.cwd()}/lib/stores/sqlite/index.ts';
      const store = sqliteStore({ filename: '${filename}' });
      const { signal } = new AbortController();
      const request = { key: 'k', label: 'l', ttl: 500, wait: true, signal, onStatus: () => undefined };
      await store.acquire({ ...request, owner: 'first' });
      await store.acquire({ ...request, owner: 'second' });
      console.log('acquired');`,
    );
    const env = { ...process.env, NODE_OPTIONS: '' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], { env });
    expect(stdout).toBe('acquired\n');
  }, 60_000);

  it('are told when the folder may not be written', async () => {
    chmodSync(folder, 0o555);
    // Permissions mean nothing to root.
    const uid = process.getuid!() === 0 ? 65_534 : undefined;
    await expect(fleet.start({ filename }, { uid })).rejects.toThrow(/LockUnavailableError.*must both be writable/);
    chmodSync(folder, 0o755);
  }, 60_000);
});

describe('node:sqlite on Node 22', () => {
  it('keeps the same promises', async () => {
    const execPath = await nodeRuntime(22);
    const members = await Promise.all(
      [1, 2, 3].map(() => fleet.start({ filename, driver: 'node:sqlite' }, { execPath })),
    );
    expect(await members[0]!.open()).toMatch(/^22\./);
    const race = { key: 'stock', counter, times: 30, hold: 1, pause: 0 };
    expectOneAfterTheOther((await Promise.all(members.map((member) => member.race(race)))).flat());
  }, 240_000);

  it('shares a file with better-sqlite3 in another process', async () => {
    const execPath = await nodeRuntime(22);
    const [builtIn, better, third] = await Promise.all([
      fleet.start({ filename, driver: 'node:sqlite' }, { execPath }),
      fleet.start({ filename, driver: 'better-sqlite3' }),
      fleet.start({ filename, driver: 'better-sqlite3' }),
    ]);
    const key = 'Schlüssel 😀 \0 '.padEnd(10_000, 'x');
    await builtIn.acquire(key);
    expect(await better.acquire(key, { wait: false })).toMatchObject({
      acquired: false,
      holder: `worker:${builtIn.process.pid}`,
    });
    await builtIn.release(key);
    await better.acquire(key);
    expect(await builtIn.inspect(key)).toMatchObject({ label: `worker:${better.process.pid}` });
    expect(await builtIn.acquire(key, { wait: false })).toMatchObject({ acquired: false });
    const race = { key: 'stock', counter, times: 40, hold: 1, pause: 0 };
    expectOneAfterTheOther((await Promise.all([builtIn, better, third].map((member) => member.race(race)))).flat());
  }, 240_000);

  it('is told apart by its errors: busy, and not a database', async () => {
    const execPath = await nodeRuntime(22);
    const broken = join(folder, 'broken.db');
    writeFileSync(broken, 'no database'.repeat(1_000));
    await expect(fleet.start({ filename: broken, driver: 'node:sqlite' }, { execPath })).rejects.toThrow(
      /LockUnavailableError.*is not an SQLite database/,
    );
    const member = await fleet.start({ filename, driver: 'node:sqlite', commandTimeout: 100 }, { execPath });
    const { default: Database } = await import('better-sqlite3');
    const other = new Database(filename);
    other.exec('BEGIN IMMEDIATE');
    await expect(member.acquire('k')).rejects.toThrow(/LockUnavailableError.*another connection/);
    other.close();
    expect(await member.acquire('k')).toMatchObject({ acquired: true });
  }, 240_000);
});
