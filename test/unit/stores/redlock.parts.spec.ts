import { describe, expect, it } from '@jest/globals';
import { Ballot } from '../../../lib/stores/redlock/ballot.js';
import { NodeDebts } from '../../../lib/stores/redlock/node.debts.js';
import { NodeFailure } from '../../../lib/stores/redlock/node.failure.js';
import { RedlockNames } from '../../../lib/stores/redlock/redlock.names.js';
import {
  lookReply,
  runIdOf,
  voteReply,
  type SeenVote,
  type VoteReply,
} from '../../../lib/stores/redlock/redlock.replies.js';
import { contention, holderSeen, noQuorum } from '../../../lib/stores/redlock/redlock.verdict.js';
import { Rounds } from '../../../lib/stores/redlock/rounds.js';
import { LockUnavailableError } from '../../../lib/errors/index.js';
import { until } from '../../support/redis-requests.js';

const me = 'a'.repeat(32);
const failed = (retryable = true) => new NodeFailure(new LockUnavailableError('away', { retryable }), true);
const granted: VoteReply = { granted: true };
const seen = (owner: string, remaining = 1_000, label?: string): SeenVote => ({ owner, label, remaining });
const refused = (owner: string, remaining?: number, label?: string): VoteReply => ({
  granted: false,
  seen: seen(owner, remaining, label),
});

function ballotOf<T>(...votes: (T | NodeFailure)[]): Ballot<T> {
  const ballot = new Ballot<T>(votes.length);
  votes.forEach((vote, index) => (ballot.votes[index] = vote instanceof NodeFailure ? vote : { reply: vote }));
  return ballot;
}

describe('an election that was not won', () => {
  it.each<[string, VoteReply[], boolean, boolean]>([
    ['a majority is somebody else’s', [refused('b'), refused('b'), granted], false, false],
    ['three have one vote each, and ours is the smallest owner', [granted, refused('b'), refused('c')], true, true],
    ['three have one vote each, and ours is not', [granted, refused('0'), refused('b')], true, false],
    ['we have most', [granted, granted, refused('b'), refused('c'), refused('d')], true, true],
    ['another has most', [granted, refused('b'), refused('b'), refused('c'), refused('d')], true, false],
    ['we have none', [refused('b'), refused('c'), refused('d')], true, false],
  ])('when %s', (_, votes, split, leads) => {
    expect(contention(ballotOf(...votes), me)).toMatchObject({ split, leads });
  });

  it('is not split where somebody may hold the key by way of a node that does not answer', () => {
    expect(contention(ballotOf<VoteReply>(granted, refused('b'), failed()), me)).toMatchObject({
      split: false,
      leads: false,
    });
  });

  it('tells who stands in the way, and when a majority could be free', () => {
    const votes = [refused('b', 500, 'host'), refused('b', 300, 'host'), refused('c', 100)];
    expect(contention(ballotOf(...votes), me).holder).toEqual({ label: 'host', remaining: 300 });
    expect(contention(ballotOf(granted, refused('b', 500), refused('c', 100)), me).holder).toEqual({ remaining: 100 });
    expect(contention(ballotOf(refused('b', Infinity), refused('b', Infinity), granted), me).holder).toEqual({});
  });
});

describe('looking at a key', () => {
  it.each<[string, (SeenVote | undefined | NodeFailure)[], string | undefined]>([
    ['of which one has a majority', [seen('b'), seen('b'), failed()], 'b'],
    ['of which one may have a majority', [seen('b'), failed(), seen('c')], 'b'],
    ['of which nobody has a majority', [seen('b'), seen('c'), seen('d')], undefined],
  ])('%s', (_, votes, owner) => {
    expect(holderSeen(ballotOf(...votes))?.owner).toBe(owner);
  });

  it('counts its lease until it has no majority any more', () => {
    expect(holderSeen(ballotOf(seen('b', 900), seen('b', 300), seen('b', 500)))).toMatchObject({ remaining: 500 });
  });
});

describe('an outage', () => {
  it('can be waited for unless the configuration of too many nodes is wrong', () => {
    expect(noQuorum(ballotOf(failed(), failed(false)), 3).retryable).toBe(true);
    expect(noQuorum(ballotOf(failed(false), failed(false)), 3).retryable).toBe(false);
    expect(noQuorum(ballotOf(failed(), failed()), 3).message).toBe('no quorum: 2 of 3 nodes did not answer; away');
  });
});

describe('names and values', () => {
  it('are those of the redlock package without a prefix', () => {
    const names = new RedlockNames('');
    expect([names.lock('a:b'), names.value(me, 0, 'host'), names.value(me, 2, 'host')]).toEqual(['a:b', me, `${me}:2`]);
  });

  it('tell the label otherwise', () => {
    const names = new RedlockNames('lock');
    expect([names.lock('a:b'), names.value(me, 0, 'h:1'), names.value(me, 0, '')]).toEqual([
      'lock:a:b',
      `${me}:0:h:1`,
      me,
    ]);
  });

  it('are read back, whoever wrote them and whatever kind of reply the client gives', () => {
    const read = (value: unknown) => lookReply([value, '12']);
    expect(read(me)).toEqual({ owner: me, label: undefined, remaining: 12 });
    expect(read(`${me}:3`)).toEqual({ owner: me, label: undefined, remaining: 12 });
    expect(read(Buffer.from(`${me}:3:h:1`))).toEqual({ owner: me, label: 'h:1', remaining: 12 });
    expect(read('anything: at all')).toEqual({ owner: 'anything: at all', label: undefined, remaining: 12 });
    expect(lookReply(null)).toBeUndefined();
    expect(voteReply([0, -1, me])).toEqual({
      granted: false,
      seen: { owner: me, label: undefined, remaining: Infinity },
    });
    expect(voteReply(['1'])).toEqual({ granted: true });
    expect(runIdOf('redis_version:7.0.15\r\nrun_id:abc123\r\ntcp_port:1\r\n')).toBe('abc123');
  });
});

describe('rounds', () => {
  it('go up, are forgotten, and never take more than a fixed room', () => {
    const rounds = new Rounds();
    expect(rounds.of(me)).toBe(0);
    rounds.next(me);
    rounds.next(me);
    expect(rounds.of(me)).toBe(2);
    rounds.forget(me);
    expect(rounds.of(me)).toBe(0);
    for (let index = 0; index < 12_000; index += 1) rounds.next(`owner ${index}`);
    expect(rounds.size).toBe(10_000);
    expect(rounds.of('owner 11999')).toBe(1);
  });
});

describe('debts', () => {
  const debt = (owner: string, round = 0) => ({ key: 'k', owner, round });

  it('are paid when the node is back, each once, and tried again where it fails', async () => {
    const paid: string[] = [];
    let free = 0;
    let away = true;
    const debts = new NodeDebts(
      async ({ owner }) => {
        if (away) throw new Error('away');
        paid.push(owner);
      },
      () => (free += 1),
    );
    for (const owner of ['a', 'b', 'a']) debts.add(debt(owner));
    expect(debts.size).toBe(2);
    await debts.settle();
    expect(paid).toEqual([]);
    away = false;
    await until(() => debts.size === 0);
    expect(paid.sort()).toEqual(['a', 'b']);
    expect(free).toBe(1);
    debts.close();
  });

  it('never take more than a fixed room', () => {
    const debts = new NodeDebts(
      async () => undefined,
      () => undefined,
    );
    for (let index = 0; index < 12_000; index += 1) debts.add(debt(`owner ${index}`));
    expect(debts.size).toBe(10_000);
    debts.close();
    expect(debts.size).toBe(0);
  });
});
