import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { LockUnavailableError } from '../../../lib/errors/index.js';
import { failureOf, unavailable, unreached } from '../../../lib/stores/etcd/etcd.errors.js';
import { EtcdEntries } from '../../../lib/stores/etcd/etcd.entries.js';
import { EtcdNames, entryValue, makerOf } from '../../../lib/stores/etcd/etcd.names.js';
import { EtcdRequests, mayStillHappen } from '../../../lib/stores/etcd/etcd.requests.js';
import { EtcdRoutes } from '../../../lib/stores/etcd/etcd.routes.js';
import { EtcdSessions } from '../../../lib/stores/etcd/etcd.sessions.js';
import { SessionCheck } from '../../../lib/stores/etcd/session-check.js';
import { EtcdWatches } from '../../../lib/stores/etcd/etcd.watches.js';
import type { EtcdClient } from '../../../lib/stores/etcd/etcd.client.js';
import { FakeEtcd } from '../../support/fake-etcd.js';

const names = new EtcdNames('lock');
const closed = new LockUnavailableError('closed', { retryable: false });
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  jest.useRealTimers();
});

function sessionsOf(client: EtcdClient, commandTimeout = 1_000): EtcdSessions {
  const routes = EtcdRoutes.given(client);
  const requests = new EtcdRequests(routes, commandTimeout);
  const watches = new EtcdWatches(routes, { interval: 1_000, timeout: 1_000 });
  const sessions = new EtcdSessions(requests, names, watches, 1_000);
  ends.push(() => sessions.close(closed).then(() => watches.close()));
  return sessions;
}

describe('how long a session is certain', () => {
  it('counts from when its lease was asked for, not from the answer', async () => {
    const etcd = new FakeEtcd();
    etcd.held = sleep(800);
    const asked = performance.now();
    const session = await sessionsOf(etcd).get(10_000);
    const answered = performance.now();
    expect(answered - asked).toBeGreaterThan(790);
    expect(session.validUntil).toBeLessThan(answered + 10_000 - 400);
    expect(session.validUntil).toBeGreaterThan(asked + 9_800);
  });

  it('counts from when a sign of life was sent, not from the answer', async () => {
    const etcd = new FakeEtcd();
    etcd.ttl = 2;
    const session = await sessionsOf(etcd).get(2_000);
    const before = session.validUntil;
    const granted = performance.now();
    etcd.held = sleep(1_000);
    // Sent after a third of the time, answered after half of it.
    while (session.validUntil === before) await sleep(5);
    const answered = performance.now();
    expect(answered - granted).toBeGreaterThan(900);
    expect(session.validUntil).toBeLessThan(answered + 2_000 - 250);
  });

  it('is what etcd has granted, where that is more than was asked for', async () => {
    const etcd = new FakeEtcd();
    etcd.ttl = 5;
    const session = await sessionsOf(etcd).get(1);
    expect(session.ttl).toBe(5_000);
    expect(session.validUntil - performance.now()).toBeGreaterThan(4_500);
  });

  it('is not moved on by a leader that has been replaced', async () => {
    const etcd = new FakeEtcd();
    etcd.ttl = 1;
    const session = await sessionsOf(etcd).get(1_000);
    const before = session.validUntil;
    etcd.readTerm = '3';
    await sleep(500);
    expect(etcd.signs).toBeGreaterThan(1);
    expect(session.validUntil).toBe(before);
    etcd.term = '3';
    await sleep(300);
    expect(session.validUntil).toBeGreaterThan(before);
  });

  it('is over at its time, and no later answer brings it back', async () => {
    const etcd = new FakeEtcd();
    etcd.ttl = 1;
    const sessions = sessionsOf(etcd);
    const session = await sessions.get(1_000);
    let ended = false;
    session.onEnd(() => (ended = true));
    etcd.failure = new Error('14 UNAVAILABLE: No connection established');
    await sleep(900);
    expect([session.alive, ended]).toEqual([true, false]);
    await sleep(200);
    expect([session.alive, ended]).toEqual([false, true]);
    session.extend(performance.now() + 1_000);
    expect(session.alive).toBe(false);
    etcd.failure = undefined;
    const next = await sessions.get(1_000);
    expect(next.lease).not.toBe(session.lease);
    // What may still stand of the first is taken back, however late.
    while (etcd.revoked === 0) await sleep(20);
    expect(etcd.revoked).toBe(1);
  });

  it('is over for code that was blocked past it, on its next line', async () => {
    const etcd = new FakeEtcd();
    etcd.ttl = 1;
    const session = await sessionsOf(etcd).get(1_000);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
    expect(session.alive).toBe(false);
  });
});

describe('sessions', () => {
  it('are made once for everybody who asks for the same number of seconds', async () => {
    const etcd = new FakeEtcd();
    const sessions = sessionsOf(etcd);
    const [a, b, c] = await Promise.all([sessions.get(9_500), sessions.get(10_000), sessions.get(10_001)]);
    expect(a).toBe(b);
    expect(c).not.toBe(a);
    expect(etcd.granted).toBe(2);
  });

  it('that end while they are made are not kept', async () => {
    const etcd = new FakeEtcd();
    etcd.ttl = 1;
    const sessions = sessionsOf(etcd, 5_000);
    etcd.heldTxn = sleep(1_200);
    expect((await sessions.get(1_000)).alive).toBe(true);
    expect([etcd.granted, etcd.revoked]).toEqual([2, 1]);
  });

  it('end when nobody has used them for a while', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    const etcd = new FakeEtcd();
    const sessions = sessionsOf(etcd);
    const [used, idle] = [await sessions.get(10_000), await sessions.get(20_000)];
    used.join('0'.repeat(32), 'key', names);
    await jest.advanceTimersByTimeAsync(100_000);
    expect([used.alive, idle.alive]).toEqual([true, false]);
    expect(etcd.revoked).toBe(1);
  });
});

describe('the entries of an owner', () => {
  const claim = { key: 'key', owner: '0'.repeat(32), label: 'me', wait: true };

  function entriesOf(etcd: FakeEtcd) {
    const sessions = sessionsOf(etcd);
    const requests = new EtcdRequests(EtcdRoutes.given(etcd), 1_000);
    return { sessions, entries: new EtcdEntries(requests, names, sessions.removal) };
  }

  it('have the names of others before them, but none that is still in use', async () => {
    const etcd = new FakeEtcd();
    const { sessions, entries } = entriesOf(etcd);
    const session = await sessions.get(10_000);
    const nameOf = (owner: string): string => session.members.get(owner)!.name;
    const [a, b, c] = ['a', 'b', 'c'].map((owner) => owner.repeat(32)) as [string, string, string];
    for (const owner of [a, b]) await entries.enter(session, { ...claim, owner });
    const [first, second] = [nameOf(a), nameOf(b)];
    expect(first).not.toBe(second);
    let answer: (stood: boolean) => void = () => undefined;
    etcd.removal = () => new Promise((resolve) => (answer = resolve));
    const left = sessions.removal.leave(a);
    await sleep(0);
    await entries.enter(session, { ...claim, owner: c });
    // It may still stand.
    expect(nameOf(c)).not.toBe(first);
    answer(true);
    expect(await left).toBe(true);
    await entries.enter(session, { ...claim, owner: a });
    expect(nameOf(a)).toBe(first);
  });

  it('do not have the name of one that may still be removed by it', async () => {
    const etcd = new FakeEtcd();
    const { sessions, entries } = entriesOf(etcd);
    const session = await sessions.get(10_000);
    const names: string[] = [];
    etcd.removal = () => Promise.resolve(true);
    for (const tries of [1, 1, 2, 1, 1]) {
      await entries.enter(session, claim);
      names.push(session.members.get(claim.owner)!.name);
      etcd.removalTries = tries;
      await sessions.removal.leave(claim.owner);
    }
    // The third was removed in two tries, of which the first may arrive yet.
    expect(names.map((name) => name.replace(/.*[.](?=.+[.])/, ''))).toEqual(['0.0', '0.0', '0.0', '1.0', '1.0']);
  });

  it('are freed once: who leaves twice at a time does not give away the name of another', async () => {
    const etcd = new FakeEtcd();
    const { sessions, entries } = entriesOf(etcd);
    const session = await sessions.get(10_000);
    const [a, b] = ['a', 'b'].map((owner) => owner.repeat(32)) as [string, string];
    await entries.enter(session, { ...claim, owner: a });
    const first = session.members.get(a)?.name;
    const answers: ((stood: boolean) => void)[] = [];
    etcd.removal = () => new Promise((resolve) => answers.push(resolve));
    const [once, twice] = [sessions.removal.leave(a), sessions.removal.leave(a)];
    while (answers.length < 2) await sleep(0);
    answers[0]!(true);
    expect(await once).toBe(true);
    await entries.enter(session, { ...claim, owner: a });
    const again = session.members.get(a)?.name;
    expect(again).not.toBe(first);
    answers[1]!(false);
    expect(await twice).toBe(false);
    await entries.enter(session, { ...claim, owner: b });
    expect(session.members.get(a)?.name).toBe(again);
    expect(session.members.get(b)?.name).not.toBe(again);
  });

  it('do not wait for each other: one in a session that has ended, and may still stand, is removed before the next', async () => {
    const etcd = new FakeEtcd();
    const { sessions, entries } = entriesOf(etcd);
    const old = await sessions.get(10_000);
    await entries.enter(old, claim);
    const { name } = old.members.get(claim.owner)!;
    etcd.failure = new Error('14 UNAVAILABLE: No connection established');
    old.end(new Error('not confirmed'));
    const session = await sessions.get(10_000);
    await entries.enter(session, claim);
    expect(etcd.removed).toEqual([name]);
    expect(sessions.membershipsOf(claim.owner).map((each) => each.session)).toEqual([session]);
    const next = session.members.get(claim.owner)!.name;
    etcd.removal = () => Promise.resolve(true);
    expect(await sessions.removal.leave(claim.owner)).toBe(true);
    expect(etcd.removed).toEqual([name, next]);
  });

  it('are asked for no more when etcd has ended what they stood under', async () => {
    const etcd = new FakeEtcd();
    const { sessions, entries } = entriesOf(etcd);
    const session = await sessions.get(10_000);
    await entries.enter(session, claim);
    etcd.failure = new Error('14 UNAVAILABLE: No connection established');
    session.end(new Error('not confirmed'));
    // Longer than a request may take.
    await sleep(1_200);
    expect(sessions.membershipsOf(claim.owner)).toHaveLength(1);
    etcd.failure = undefined;
    while (etcd.revoked === 0) await sleep(20);
    await sleep(0);
    expect(sessions.membershipsOf(claim.owner)).toEqual([]);
    expect(await sessions.removal.leave(claim.owner)).toBe(false);
    expect(etcd.removed).toEqual([]);
  });
});

describe('the look at what stands', () => {
  const owner = '0'.repeat(32);

  async function leaving(etcd: FakeEtcd) {
    const requests = new EtcdRequests(EtcdRoutes.given(etcd), 1_000);
    const sessions = sessionsOf(etcd);
    const session = await sessions.get(10_000);
    const member = session.join(owner, 'key', names);
    member.entry = { id: `5@${member.name}`, fence: 5n };
    const check = new SessionCheck(session, requests, names, sessions.removal);
    return { check, name: member.name, leave: () => sessions.removal.leave(owner) };
  }

  it('leaves a removal that is under way to whoever asked for it: a second one would have it find nothing', async () => {
    const etcd = new FakeEtcd();
    const { check, leave, name } = await leaving(etcd);
    let answer: (stood: boolean) => void = () => undefined;
    etcd.removal = () => new Promise((resolve) => (answer = resolve));
    const stood = leave();
    await check.run();
    answer(true);
    expect(await stood).toBe(true);
    expect(etcd.removed).toEqual([name]);
  });

  it('leaves alone what an owner has under another session by now', async () => {
    const etcd = new FakeEtcd();
    const sessions = sessionsOf(etcd);
    const requests = new EtcdRequests(EtcdRoutes.given(etcd), 1_000);
    const entries = new EtcdEntries(requests, names, sessions.removal);
    const claim = { key: 'key', owner, label: 'me', wait: true };
    const old = await sessions.get(10_000);
    const check = new SessionCheck(old, requests, names, sessions.removal);
    for (const each of ['1'.repeat(32), owner]) {
      await entries.enter(old, { ...claim, owner: each });
      old.members.get(each)!.owed = true;
    }
    const failures: (() => void)[] = [];
    etcd.removal = () => new Promise((_, reject) => failures.push(() => reject(new Error('7 PERMISSION_DENIED: no'))));
    const checked = check.run();
    while (failures.length === 0) await sleep(1);
    old.end(new Error('not confirmed'));
    while (sessions.membershipsOf(owner).length > 0) await sleep(1);
    const session = await sessions.get(10_000);
    await entries.enter(session, claim);
    etcd.removal = () => Promise.resolve(true);
    failures[0]!();
    await checked;
    const { name } = session.members.get(owner)!;
    expect(etcd.removed).not.toContain(name);
  });

  it('makes up for a removal that has failed, until it is done', async () => {
    const etcd = new FakeEtcd();
    const { check, leave, name } = await leaving(etcd);
    etcd.removal = () => Promise.reject(Object.assign(new Error('7 PERMISSION_DENIED: no')));
    await expect(leave()).rejects.toThrow();
    await check.run();
    etcd.removal = () => Promise.resolve(true);
    await check.run();
    await check.run();
    expect(etcd.removed).toEqual([name, name, name]);
  });
});

describe('requests', () => {
  const requestsOf = (...clients: EtcdClient[]): EtcdRequests => {
    const hosts = clients.map((_, index) => `host-${index}`);
    return new EtcdRequests(
      EtcdRoutes.own(hosts, (host) => clients[hosts.indexOf(host)]!),
      600,
    );
  };
  const etcd = new FakeEtcd();

  it('end in time whatever the client does', async () => {
    const start = performance.now();
    const failing = requestsOf(etcd).ask(() => new Promise(() => undefined));
    const error: unknown = await failing.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
    expect(mayStillHappen(error)).toBe(true);
    expect(performance.now() - start).toBeLessThan(1_200);
  });

  it('go to each member in turn, each with a part of the time, and end what was silent', async () => {
    const clients = [new FakeEtcd(), new FakeEtcd(), new FakeEtcd()];
    const asked: EtcdClient[] = [];
    const cancelled: number[] = [];
    const start = performance.now();
    const answer = await requestsOf(...clients).ask((client, { started }) => {
      const number = asked.push(client);
      started?.({ cancel: () => cancelled.push(number) });
      return number < 3 ? new Promise<string>(() => undefined) : Promise.resolve('answer');
    });
    expect(answer).toMatchObject({ reply: 'answer', repeated: true });
    expect(new Set(asked).size).toBe(3);
    expect(cancelled).toEqual([1, 2]);
    expect(performance.now() - start).toBeGreaterThan(390);
  });

  it('end a call that a login held up for longer than it may take', async () => {
    let [sent, cancelled] = [0, 0];
    const late = requestsOf(etcd).ask(async (_client, { started }) => {
      sent += 1;
      await sleep(300);
      started?.({ cancel: () => (cancelled += 1) });
      return new Promise(() => undefined);
    }, 100);
    await expect(late).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(cancelled).toBe(0);
    while (cancelled < sent) await sleep(20);
  });

  it('hear what came in while the process was blocked past their time', async () => {
    const answer = requestsOf(etcd).ask(() => new Promise((resolve) => setImmediate(() => resolve('answer'))), 100);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect(await answer).toMatchObject({ reply: 'answer', repeated: false });
  });

  it('know what cannot have been carried out', async () => {
    for (const [message, unsure] of [
      ['14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED', false],
      ['14 UNAVAILABLE: Connection dropped', true],
      ['4 DEADLINE_EXCEEDED: Deadline exceeded after 0.5s', true],
      ['5 NOT_FOUND: etcdserver: requested lease not found', false],
      ['7 PERMISSION_DENIED: etcdserver: permission denied', false],
      ['14 UNAVAILABLE: etcdserver: request timed out', true],
    ] as const) {
      const error: unknown = await requestsOf(etcd)
        .ask(() => Promise.reject(new Error(message)), 100)
        .catch((reason: unknown) => reason);
      expect([message, mayStillHappen(error)]).toEqual([message, unsure]);
    }
  });

  it('say why the first tries have failed when there was no time left for the last', async () => {
    const late = '4 DEADLINE_EXCEEDED: Deadline exceeded after 0.000s';
    for (const [first, said] of [
      ['14 UNAVAILABLE: No connection established', 'No connection established'],
      // Of a login that has been renewed since.
      ['16 UNAUTHENTICATED: etcdserver: invalid auth token', late],
    ] as const) {
      let tries = 0;
      const failing = requestsOf(etcd).ask(() => {
        tries += 1;
        return Promise.reject(new Error(tries === 1 ? first : late));
      }, 100);
      await expect(failing).rejects.toMatchObject({ message: expect.stringContaining(said), retryable: true });
      expect(tries).toBeGreaterThan(1);
    }
  });

  it('are refused after the end', async () => {
    const requests = requestsOf(etcd);
    requests.close(closed);
    await expect(requests.ask(() => Promise.resolve())).rejects.toBe(closed);
  });
});

describe('errors', () => {
  it.each([
    ['7 PERMISSION_DENIED: etcdserver: permission denied', false, false],
    ['3 INVALID_ARGUMENT: etcdserver: authentication failed, invalid user ID or password', false, false],
    ['3 INVALID_ARGUMENT: etcdserver: user name is empty', false, false],
    ['5 NOT_FOUND: etcdserver: requested lease not found', false, true],
    ['14 UNAVAILABLE: etcdserver: no leader', true, true],
    ['13 INTERNAL: Received RST_STREAM with code 2', true, true],
    ['Execution prevented because the circuit breaker is open', true, true],
  ])('%s', (message, transient, retryable) => {
    expect(failureOf(new Error(message)).transient).toBe(transient);
    expect(unavailable('etcd', new Error(message))).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable });
  });

  it.each([
    ['14 UNAVAILABLE: No connection established', 'etcd at a cannot be reached within 50 ms: 14 UNAVAILABLE: No conn'],
    ['4 DEADLINE_EXCEEDED: Deadline exceeded after 0.1s,remote_addr=127.0.0.1:2379', 'a gave no answer within 50 ms'],
    ['14 UNAVAILABLE: etcdserver: no leader', 'etcd at a: 14 UNAVAILABLE: etcdserver: no leader'],
    ['7 PERMISSION_DENIED: etcdserver: permission denied', 'etcd at a: 7 PERMISSION_DENIED'],
  ])('of open(): %s', (message, said) => {
    const failure = unavailable('a', new Error(message));
    const reported = unreached('a', 50, failure) as Error;
    expect(reported.message).toContain(said);
    expect(reported.message).not.toMatch(/Deadline exceeded/);
    expect(reported.cause).toBe(failure.cause);
  });

  it('keep nothing of the call', () => {
    const original = Object.assign(new Error('14 UNAVAILABLE: gone'), { metadata: { token: 'secret' } });
    const error = unavailable('http://etcd:2379', original);
    expect(error.message).toBe('etcd at http://etcd:2379: 14 UNAVAILABLE: gone');
    expect(error.cause).toMatchObject({ code: 14 });
    expect(JSON.stringify(error.cause)).not.toContain('secret');
  });
});

describe('names', () => {
  it('are safe and different, whatever the keys are', () => {
    const keys = ['a/b', 'a', '', '../x', 'a\u0000b', 'ü', 'u\u0308', 'x'.repeat(10_000), 'sessions'];
    const made = keys.map((key) => names.entry(key, '77', 0, 1));
    expect(new Set(made).size).toBe(keys.length);
    for (const name of made) expect(name).toMatch(/^lock\/[0-9a-f]{64}\/77\.0\.1$/);
    for (const [index, key] of keys.entries()) {
      const { start, end } = names.queue(key);
      const inside = made.filter((name) => Buffer.from(name) >= start && Buffer.from(name).compare(end) < 0);
      expect(inside.filter((name) => name.startsWith(String(start)))).toEqual([made[index]]);
    }
  });

  it('have values that tell an owner and a label, or nothing', () => {
    const value = entryValue({ key: 'x'.repeat(5_000), owner: 'me', label: 'hôst:1' });
    expect(value.length).toBeLessThan(1_100);
    expect(makerOf(Buffer.from(value))).toEqual({ owner: 'me', label: 'hôst:1' });
    for (const other of ['', '{', 'null', '7', '{"label":""}', '{"label":{},"owner":7}']) {
      expect(makerOf(Buffer.from(other))).toEqual({ owner: undefined, label: undefined });
    }
  });
});
