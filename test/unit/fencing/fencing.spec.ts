import { describe, expect, it } from '@jest/globals';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { fencedCommand, fencingFrom, fencingHeaders, sqlFence } from '../../../lib/fencing/index.js';

const LARGEST = 2n ** 63n - 1n;

describe('sqlFence()', () => {
  it('casts its text where a server would compare otherwise', () => {
    expect(sqlFence('postgres', 7n).where('$2')).toBe('(fence IS NULL OR fence <= $2::bigint)');
    expect(sqlFence('mysql', 7n).set()).toBe('fence = CAST(? AS UNSIGNED)');
    expect(sqlFence('sqlite', 7n, { column: 'account.token' }).where(':fence')).toBe(
      '(account.token IS NULL OR account.token <= CAST(:fence AS INTEGER))',
    );
    expect(sqlFence('sqlite', 7n, { column: 'account.token' }).set(':fence')).toBe('token = CAST(:fence AS INTEGER)');
    expect(sqlFence('postgres', LARGEST).value).toBe('9223372036854775807');
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no token', () => sqlFence('postgres', undefined as never), /the fencing token is undefined/],
    ['a number', () => sqlFence('postgres', 7 as never), /the fencing token is 7/],
    ['0', () => sqlFence('postgres', 0n), /from 1 to 2\^63 - 1/],
    ['a token that is too large', () => sqlFence('postgres', LARGEST + 1n), /from 1 to 2\^63 - 1/],
    ['another dialect', () => sqlFence('oracle' as never, 7n), /the dialect is 'oracle'.*postgres, mysql, sqlite/],
    ['a column that is none', () => sqlFence('mysql', 7n, { column: 'a; DROP' }), /column is 'a; DROP'/],
    ['a placeholder that is none', () => sqlFence('mysql', 7n).set('1'), /the placeholder is '1'/],
    ['no number of rows', () => sqlFence('mysql', 7n).check({} as never), /the number of rows/],
  ])('refuses %s', (_, call, message) => {
    expect(call).toThrow(
      expect.objectContaining({ code: LockErrorCode.Options, message: expect.stringMatching(message) }),
    );
  });

  it('tells a stale holder from one that wrote', () => {
    const fence = sqlFence('postgres', { fencingToken: 7n });
    fence.check(1);
    fence.check(2n);
    expect(() => fence.check(0)).toThrow(expect.objectContaining({ code: LockErrorCode.Fenced, fencingToken: 7n }));
    // No row count at all (MERGE, a driver's null) is a mistake, never a success.
    expect(() => fence.check(null)).toThrow(expect.objectContaining({ code: LockErrorCode.Options }));
  });

  it('makes an error that can be logged', () => {
    expect.assertions(1);
    try {
      sqlFence('postgres', 7n).check(0);
    } catch (error) {
      expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'LOCK_FENCED', statusCode: 409 });
    }
  });
});

describe('fencingHeaders() and fencingFrom()', () => {
  const lock = { key: 'kasse:größe 🔑/%', fencingToken: LARGEST };

  it('carry a key and its token, in the headers of Node and of fetch', () => {
    const headers = fencingHeaders(lock);
    expect(Object.values(headers).every((value) => /^[\x21-\x7e]+$/.test(value))).toBe(true);
    expect(fencingFrom(headers)).toEqual(lock);
    expect(fencingFrom(new Headers(headers))).toEqual(lock);
  });

  it.each<[string, Record<string, string | string[]>, RegExp]>([
    ['nothing', {}, /"fencing-token" is missing/],
    ['no key', { 'fencing-token': '7' }, /"fencing-key" is missing/],
    [
      'a repeated header',
      { 'fencing-token': ['7', '8'], 'fencing-key': 'k' },
      /"fencing-token" is \['7', '8'\]|one text/,
    ],
    ['no number', { 'fencing-token': '1e9', 'fencing-key': 'k' }, /"fencing-token" is '1e9'.*decimal/],
    ['a number that is too large', { 'fencing-token': String(2n ** 63n), 'fencing-key': 'k' }, /below 2\^63/],
    ['bad encoding', { 'fencing-token': '7', 'fencing-key': '%zz' }, /percent-encoded/],
  ])('refuse %s', (_, headers, message) => {
    expect(() => fencingFrom(headers)).toThrow(
      expect.objectContaining({
        code: LockErrorCode.FencingHeader,
        statusCode: 400,
        message: expect.stringMatching(message),
      }),
    );
  });
});

describe('fencedCommand()', () => {
  const client = { eval: () => Promise.reject(new Error('was asked')) };

  it.each<[string, readonly unknown[], RegExp]>([
    ['no command', [undefined], /the command is undefined/],
    ['a command without a key', [['FLUSHALL']], /the command is/],
    ['values that are no texts', [['SET', 'k', 5]], /the command is/],
  ])('refuses %s', async (_, [command], message) => {
    await expect(fencedCommand(client, 7n, command as never)).rejects.toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringMatching(message),
    });
  });

  it('refuses a life of no length', async () => {
    await expect(fencedCommand(client, 7n, ['SET', 'k', 'v'], { keepFor: 0 })).rejects.toThrow(/keepFor is 0/);
  });
});
