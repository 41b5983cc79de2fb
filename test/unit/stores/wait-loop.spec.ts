import { describe, expect, it } from '@jest/globals';
import { Doorbell } from '../../../lib/stores/shared/doorbell.js';
import { jitter, waitLoop } from '../../../lib/stores/shared/wait-loop.js';

const never = new AbortController().signal;

describe('the wait loop', () => {
  it('tries again when the poll is due', async () => {
    let tries = 0;
    const start = performance.now();
    const attempt = async () =>
      ((tries += 1) < 3 ? { done: false, retryIn: 20 } : { done: true, value: tries }) as never;
    expect(await waitLoop({ attempt, bell: new Doorbell(), signal: never })).toBe(3);
    expect(performance.now() - start).toBeGreaterThanOrEqual(38);
  });

  it('tries again at once when woken, also by a ring during the try', async () => {
    const bell = new Doorbell();
    let tries = 0;
    const attempt = async () => {
      tries += 1;
      if (tries === 1) bell.ring();
      if (tries === 2) setTimeout(() => bell.ring(), 20);
      return (tries < 3 ? { done: false, retryIn: 60_000 } : { done: true, value: 'won' }) as never;
    };
    expect(await waitLoop({ attempt, bell, signal: never })).toBe('won');
  });

  it('ends with the reason of an abort or of a broken bell, and with the error of a try', async () => {
    const attempt = async () => ({ done: false, retryIn: 60_000 }) as const;
    const abort = new AbortController();
    const aborted = waitLoop({ attempt, bell: new Doorbell(), signal: abort.signal });
    setTimeout(() => abort.abort('enough'), 10);
    await expect(aborted).rejects.toBe('enough');
    const bell = new Doorbell();
    const broken = waitLoop({ attempt, bell, signal: never });
    setTimeout(() => bell.break('closed'), 10);
    await expect(broken).rejects.toBe('closed');
    await expect(waitLoop({ attempt, bell, signal: never })).rejects.toBe('closed');
    const failing = waitLoop({ attempt: () => Promise.reject(new Error('no')), bell: new Doorbell(), signal: never });
    await expect(failing).rejects.toThrow('no');
  });

  it('does not ask for a signal when the first try succeeds', async () => {
    const loop = {
      attempt: async () => ({ done: true, value: 'won' }) as const,
      bell: new Doorbell(),
      get signal(): AbortSignal {
        throw new Error('asked for');
      },
    };
    expect(await waitLoop(loop)).toBe('won');
  });

  it('tries once when aborted already', async () => {
    let tries = 0;
    const attempt = async () => ({ done: false, retryIn: (tries += 1) }) as const;
    await expect(waitLoop({ attempt, bell: new Doorbell(), signal: AbortSignal.abort('late') })).rejects.toBe('late');
    expect(tries).toBe(1);
  });

  it('leaves no listener behind on the signal', async () => {
    const added: unknown[] = [];
    const signal = new AbortController().signal;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: [never, never]) => {
      added.push(args[1]);
      addEventListener.call(signal, ...args);
    };
    signal.removeEventListener = (...args: [never, never]) => {
      added.splice(added.indexOf(args[1]), 1);
      removeEventListener.call(signal, ...args);
    };
    await new Doorbell().sleep(5, signal);
    const bell = new Doorbell();
    setTimeout(() => bell.ring(), 5);
    await bell.sleep(1_000, signal);
    expect(added).toEqual([]);
  });
});

describe('jitter', () => {
  it('stays within a quarter', () => {
    for (let each = 0; each < 1_000; each += 1) {
      expect(Math.abs(jitter(1_000) - 1_000)).toBeLessThanOrEqual(250);
    }
  });
});
