import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { unavailable } from '../../../lib/stores/redis/redis.errors.js';
import { releaseScript } from '../../../lib/stores/redis/scripts/index.js';

describe('an error of a client', () => {
  it('is copied without the command that it carries', () => {
    const error = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
      name: 'ReplyError',
      command: { name: 'auth', args: ['user', 'hunter2'] },
    });
    const ours = unavailable('host:1', error);
    expect(ours).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: false,
      message: 'redis at host:1: WRONGPASS invalid username-password pair',
      cause: { name: 'ReplyError', message: error.message },
    });
    expect(inspect(ours, { depth: 20, showHidden: true })).not.toContain('hunter2');
  });

  it('does not show the arguments of a command that the server does not know', () => {
    const error = new Error("ERR unknown command 'AUTH', with args beginning with: 'hunter2' \n");
    expect(unavailable('host:1', error)).toMatchObject({
      retryable: false,
      message: "redis at host:1: ERR unknown command 'AUTH'",
    });
  });

  it('keeps its code, and says something when there is no message', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' });
    const both = Object.assign(new AggregateError([refused, new Error('connect ECONNREFUSED 127.0.0.1:1')]), {
      code: 'ECONNREFUSED',
    });
    expect(unavailable('host:1', both)).toMatchObject({
      retryable: true,
      message: 'redis at host:1: connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
      cause: { code: 'ECONNREFUSED' },
    });
  });

  it('tells what a node of a cluster has said, and that a password is missing', () => {
    const lastNodeError = new Error('ERR This instance has cluster support disabled');
    const cluster = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError });
    expect(unavailable('host:1', cluster).message).toBe(
      'redis at host:1: Failed to refresh slots cache: ERR This instance has cluster support disabled',
    );
    expect(unavailable('host:1', new Error('NOAUTH Authentication required.')).message).toBe(
      'redis at host:1: NOAUTH Authentication required. (it wants a password, and the client has none)',
    );
  });

  it.each([
    'READONLY You can’t write',
    'LOADING',
    'BUSY',
    'OOM command not allowed',
    'MASTERDOWN',
    'Connection is closed.',
  ])('may go away: %s', (message) => {
    expect(unavailable('host:1', new Error(message)).retryable).toBe(true);
  });

  it.each([
    'NOAUTH x',
    'NOPERM x',
    'MOVED 1 host:2',
    'Connection in subscriber mode, only subscriber commands may be used',
  ])('stays until somebody changes something: %s', (message) => {
    expect(unavailable('host:1', new Error(message)).retryable).toBe(false);
  });

  it('names the command where the server names only a line', () => {
    const line = releaseScript.source.split('\n').findIndex((each) => each.includes("'LREM'")) + 1;
    const refused = new Error(
      `ERR The user executing the script can't run this command script: abc, on @user_script:${line}.`,
    );
    expect(unavailable('host:1', refused, { script: releaseScript }).message).toMatch(
      /\(LREM in the release script\)$/,
    );
  });
});
