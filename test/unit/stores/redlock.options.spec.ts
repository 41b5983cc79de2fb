import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import pg from 'pg';
import { createClient } from 'redis';
import { redlockStore, type RedlockStoreOptions } from '../../../lib/stores/redlock/index.js';
import { redlockSettings } from '../../../lib/stores/redlock/redlock.options.js';

const urls = ['redis://a', 'redis://b', 'redis://c'];
const ioredis = () => new Redis({ lazyConnect: true });

function refusal(options: unknown): Error {
  try {
    redlockStore(options as RedlockStoreOptions);
  } catch (error) {
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS', name: 'LockOptionsError' });
    return error as Error;
  }
  throw new Error('it was accepted');
}

describe('the options of redlockStore', () => {
  it('have sensible defaults', () => {
    expect(redlockSettings({ urls })).toEqual({
      sources: urls.map((url) => ({ url, options: {} })),
      prefix: 'lock',
      nodeTimeout: 200,
      pollInterval: 1_000,
      connectTimeout: 5_000,
    });
  });

  it('take an empty prefix: the names of the redlock package', () => {
    expect(redlockSettings({ urls, prefix: '' }).prefix).toBe('');
  });

  it.each([
    [undefined, /options are undefined/],
    [null, /options are null/],
    [{}, /neither clients nor urls/],
    [{ urls, clients: [] }, /both clients and urls/],
    [{ urls, client: {} }, /no option "client".*clients/],
    [{ urls: 'redis://a' }, /urls is 'redis:\/\/a', but must be an array/],
    [{ urls, prefix: 'a b' }, /prefix is 'a b'/],
    [{ urls, prefix: 7 }, /prefix is 7/],
    [{ urls, nodeTimeout: 0 }, /nodeTimeout is 0/],
    [{ urls, pollInterval: Infinity }, /pollInterval is Infinity/],
    [{ urls, connectTimeout: NaN }, /connectTimeout is NaN/],
    [{ urls: ['redis://a', 'redis://b', 'http://c'] }, /urls\[2\] begins with 'http:'/],
    [{ urls: ['redis://a', 7, 'redis://c'] }, /urls\[1\] is 7/],
    [{ urls, options: 'x' }, /options is 'x'/],
  ])('refuse %j', (options, message) => {
    expect(refusal(options).message).toMatch(message);
  });

  it.each([0, 1, 2, 4, 6])('refuse %i nodes', (count) => {
    const some = Array.from({ length: count }, (_, index) => `redis://node-${index}`);
    expect(refusal({ urls: some }).message).toMatch(/a quorum needs an odd number, 3 or more/);
    expect(refusal({ clients: some.map(ioredis) }).message).toMatch(/a quorum needs an odd number, 3 or more/);
  });

  it.each([3, 5, 7])('take %i nodes', (count) => {
    expect(redlockStore({ urls: Array.from({ length: count }, (_, index) => `redis://node-${index}`) }).name).toBe(
      'redlock',
    );
  });

  it('refuse a node that is in the list twice', () => {
    expect(refusal({ urls: ['redis://a', 'redis://b', 'redis://a'] }).message).toMatch(
      /urls\[2\] is in the list twice/,
    );
    const client = ioredis();
    expect(refusal({ clients: [client, ioredis(), client] }).message).toMatch(/clients\[2\] is in the list twice/);
  });

  it('take clients of different libraries', () => {
    expect(redlockStore({ clients: [ioredis(), createClient(), ioredis()] }).name).toBe('redlock');
  });

  it('refuse a client of another kind, and say which one it is', () => {
    const others: [unknown, RegExp][] = [
      [new pg.Pool(), /clients\[1\] is an object \(Object\), but must be a `Redis` of ioredis/],
      [new Cluster([{ host: 'localhost', port: 1 }], { lazyConnect: true }), /clients\[1\] is a Cluster/],
      [
        new Redis({ lazyConnect: true, name: 'locks', sentinels: [{ host: 'localhost', port: 26379 }] }),
        /clients\[1\] is led by sentinels/,
      ],
      [null, /clients\[1\] is null/],
      ['redis://b', /clients\[1\] is 'redis:\/\/b'/],
    ];
    for (const [other, message] of others) {
      expect(refusal({ clients: [ioredis(), other, ioredis()] }).message).toMatch(message);
    }
  });

  it('refuse options for clients, which have their own', () => {
    expect(refusal({ clients: [ioredis(), ioredis(), ioredis()], options: {} }).message).toMatch(
      /options are for urls/,
    );
  });

  it('never show a password', () => {
    for (const bad of ['redis//user:hunter2@host', 'http://user:hunter2@host', 'redis://user:hunter2@host:port']) {
      const error = refusal({ urls: ['redis://a', bad, 'redis://c'] });
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
    }
    const twice = refusal({ urls: ['redis://:hunter2@a', 'redis://b', 'redis://:hunter2@a'] });
    expect(inspect(twice, { depth: 20, showHidden: true })).not.toContain('hunter2');
  });
});
