import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { LockService, type HoldTrace, type LockStore, type LockTracer } from '../../../lib/index.js';
import { DEFAULT_LOCK_OPTIONS } from '../../../lib/options/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

let store: LockStore;
let engine: LockEngine;
let locks: LockService;
let story: string[];

beforeEach(() => {
  store = memoryStore();
  engine = new LockEngine({ stores: new Map([['main', store]]), label: 'here', handOff: { max: 16, time: 50 } });
  locks = new LockService(engine, { ...DEFAULT_LOCK_OPTIONS, store: 'main' });
  story = [];
});

afterEach(() => engine.close(0));

/** Writes down what it is told, each call with a number of its own. */
function storyteller(): LockTracer {
  let calls = 0;
  return {
    wait: ({ store: name, template }) => {
      const call = (calls += 1);
      const tell = (what: string) => story.push(`${call} ${what}`);
      tell(`waits for ${template} in ${name}`);
      return {
        granted: (handedOff) => {
          tell(handedOff ? 'was handed it' : 'has it');
          const hold: HoldTrace = {
            run: (body) => {
              tell('runs');
              return body();
            },
            lost: (reason) => tell(`lost it: ${reason}`),
            ended: () => tell('ended'),
          };
          return hold;
        },
        refused: (reason) => tell(`was refused: ${(reason as Error).name}`),
      };
    },
  };
}

describe('a tracer', () => {
  beforeEach(() => engine.trace(storyteller()));

  it('follows a body from its wait to the release', async () => {
    await locks.withLock('k', { template: 'k:<id>' }, async () => story.push('body'));
    expect(story).toEqual(['1 waits for k:<id> in main', '1 has it', '1 runs', 'body', '1 ended']);
  });

  it('is told of each key of several, by its template, and runs the body once', async () => {
    await locks.withLock(['b', 'a'], { template: ['b:<id>', 'a:<id>'] }, async () => story.push('body'));
    expect(story.slice(0, 6)).toEqual([
      '1 waits for a:<id> in main',
      '1 has it',
      '2 waits for b:<id> in main',
      '2 has it',
      '2 runs',
      'body',
    ]);
    expect(story.slice(6).sort()).toEqual(['1 ended', '2 ended']);
  });

  it('has an end for every beginning: refused, given up, handed on', async () => {
    const first = await locks.acquire('k');
    expect(await locks.tryAcquire('k')).toBeNull();
    const leave = new AbortController();
    const given = locks.acquire('k', { signal: leave.signal });
    const next = locks.acquire('k');
    leave.abort(new TypeError('left'));
    await expect(given).rejects.toThrow('left');
    await first.release();
    await (await next).release();
    expect(story).toEqual([
      '1 waits for undefined in main',
      '1 has it',
      '2 waits for undefined in main',
      '2 was refused: LockContendedError',
      '3 waits for undefined in main',
      '4 waits for undefined in main',
      '3 was refused: TypeError',
      '4 was handed it',
      '1 ended',
      '4 ended',
    ]);
  });

  it('sees a body that enters its own lock again as a part of the first', async () => {
    await locks.withLock('k', () => locks.withLock('k', { reentrant: true }, async () => story.push('inner')));
    expect(story).toEqual(['1 waits for undefined in main', '1 has it', '1 runs', 'inner', '1 ended']);
  });

  it('is told of a loss, also of one that the release finds out', async () => {
    await locks.withLock('k', () => locks.forceRelease('k'));
    expect(story.slice(3)).toEqual(['1 lost it: it was released by force', '1 ended']);
    const lock = await locks.acquire('k');
    // Past this engine, so that only the store knows.
    await store.forceRelease('k');
    expect(await lock.release()).toBe(false);
    await Promise.resolve();
    expect(story.slice(-2)).toEqual(['2 lost it: at its release the store no longer had it', '2 ended']);
  });
});

describe('a tracer that throws', () => {
  const fail = (): never => {
    throw new Error('broken tracer');
  };
  const trace = { run: fail, lost: fail, ended: fail };

  it.each<[string, LockTracer]>([
    ['at the wait', { wait: fail }],
    ['at its end', { wait: () => ({ granted: fail, refused: fail }) }],
    ['in the hold', { wait: () => ({ granted: () => trace, refused: fail }) }],
    [
      'after the body',
      {
        wait: () => ({
          granted: () => ({
            ...trace,
            run: (body) => {
              body();
              return fail();
            },
          }),
          refused: fail,
        }),
      },
    ],
  ])('%s breaks no lock, and no body runs twice', async (_, tracer) => {
    const errors: unknown[] = [];
    engine.events.onError = (error, event) => errors.push([(error as Error).message, event]);
    engine.trace(tracer);
    let runs = 0;
    const lock = await locks.acquire('other');
    expect(await locks.tryAcquire('other')).toBeNull();
    await lock.release();
    await expect(locks.withLock('k', async () => (runs += 1))).resolves.toBe(1);
    await expect(locks.withLock('k', () => Promise.reject(new Error('own')))).rejects.toThrow('own');
    await expect(
      locks.withLock('k', () => {
        throw new Error('own, at once');
      }),
    ).rejects.toThrow('own, at once');
    expect(errors.length).toBeGreaterThan(0);
    expect(errors).toEqual(errors.map(() => ['broken tracer', 'tracer']));
  });
});

describe('events', () => {
  it('tell the template of the call, of every kind', async () => {
    const heard: unknown[] = [];
    for (const event of ['acquired', 'contended', 'released', 'lost', 'unavailable'] as const) {
      locks.on(event, ({ key, template }) => heard.push([event, key, template]));
    }
    const options = { template: 'k:<id>', wait: 0 };
    await locks.withLock('k', options, async () => {
      expect(await locks.tryAcquire('k:1', options)).not.toBeNull();
      expect(await locks.tryAcquire('k:1', options)).toBeNull();
      await locks.forceRelease('k:1');
    });
    store.acquire = () => Promise.reject(new Error('down'));
    await expect(locks.acquire('k', options)).rejects.toThrow('down');
    expect(heard).toEqual([
      ['acquired', 'k', 'k:<id>'],
      ['acquired', 'k:1', 'k:<id>'],
      ['contended', 'k:1', 'k:<id>'],
      ['lost', 'k:1', 'k:<id>'],
      ['released', 'k', 'k:<id>'],
      ['unavailable', 'k', 'k:<id>'],
    ]);
  });

  it('tell a loss that the release found out from one that came before', async () => {
    const heard: unknown[] = [];
    locks.on('released', () => heard.push('released'));
    locks.on('lost', ({ atRelease }) => heard.push(['lost', atRelease]));
    const lock = await locks.acquire('k');
    await store.forceRelease('k');
    await lock.release();
    await locks.withLock('k', () => locks.forceRelease('k'));
    expect(heard).toEqual(['released', ['lost', true], ['lost', false]]);
  });
});

describe('template', () => {
  it.each([
    [{ template: '' }, /template is '', but must be a text such as 'order:<id>', or a list of them/],
    [{ template: ['a'] }, /withLock\(\): template is a list of 1, but the keys are 2/],
    [{ template: [] }, /template is an array/],
  ])('%j is refused', async (options, message) => {
    await expect(locks.withLock(['a', 'b'], options, async () => undefined)).rejects.toThrow(message);
  });
});
