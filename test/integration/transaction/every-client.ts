import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { lockInTransaction, type TransactionLockMode, type TransactionSource } from '../../../lib/transaction/index.js';
import { openSession } from '../../../lib/transaction/sources/index.js';
import type { MakeClient, TestClient } from './test-client.js';

/** What has to hold for every library that is recognised, in every mode. The tables must exist. */
export function everyClient(
  name: string,
  make: MakeClient,
  modes: readonly TransactionLockMode[],
  url: () => string,
  shareAnOrigin = false,
) {
  describe(name, () => {
    let client: TestClient;
    beforeAll(async () => {
      client = await make(url());
    });
    afterAll(() => client.close());

    describe.each(modes)('%s', (mode) => {
      it('loses no update of a counter that ten transactions at a time read and write', async () => {
        const id = randomUUID();
        await client.transaction((_, sql) => sql(`INSERT INTO counter (id, value) VALUES ('${id}', 0)`));
        const add = () =>
          client.transaction(async (tx, sql) => {
            await lockInTransaction(tx, `counter:${id}`, { mode, wait: '20s' });
            const [row] = await sql(`SELECT value FROM counter WHERE id = '${id}'`);
            await sql(`UPDATE counter SET value = ${Number(row!['value']) + 1} WHERE id = '${id}'`);
          });
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            for (let turn = 0; turn < 3; turn += 1) await add();
          }),
        );
        const [row] = await client.transaction((_, sql) => sql(`SELECT value FROM counter WHERE id = '${id}'`));
        expect(Number(row!['value'])).toBe(30);
      });

      it('is held until the commit, and until the rollback', async () => {
        for (const end of ['commit', 'rollback'] as const) {
          const key = `held:${randomUUID()}`;
          const other = (): Promise<unknown> =>
            client.transaction((tx) => lockInTransaction(tx, key, { mode, wait: 0 }));
          const held = client.transaction(async (tx) => {
            await lockInTransaction(tx, key, { mode });
            await expect(other()).rejects.toMatchObject({ code: LockErrorCode.Contended, key });
            if (end === 'rollback') throw new Error('roll back');
          });
          await held.catch((error: unknown) => expect((error as Error).message).toBe('roll back'));
          await expect(other()).resolves.toMatchObject({ key, fencingToken: undefined });
        }
      });

      it('leaves the transaction usable when the wait is over, and returns on time', async () => {
        const key = `usable:${randomUUID()}`;
        const id = randomUUID();
        await client.transaction(async (holder) => {
          await lockInTransaction(holder, key, { mode });
          await client.transaction(async (tx, sql) => {
            await sql(`INSERT INTO counter (id, value) VALUES ('${id}', 7)`);
            const start = performance.now();
            await expect(lockInTransaction(tx, key, { mode, wait: 500 })).rejects.toMatchObject({
              code: LockErrorCode.Contended,
            });
            expect(performance.now() - start).toBeGreaterThan(450);
            expect(performance.now() - start).toBeLessThan(700);
            await sql(`UPDATE counter SET value = 8 WHERE id = '${id}'`);
            await lockInTransaction(tx, `${key}:another`, { mode });
          });
        });
        const [row] = await client.transaction((_, sql) => sql(`SELECT value FROM counter WHERE id = '${id}'`));
        expect(Number(row!['value'])).toBe(8);
      });

      it('takes a key that the transaction holds already, at once', async () => {
        const key = `again:${randomUUID()}`;
        await client.transaction(async (tx) => {
          await lockInTransaction(tx, key, { mode, wait: 0 });
          await lockInTransaction(tx, key, { mode, wait: 0 });
        });
      });

      it('draws a larger fencing token from each hold, also after a rollback', async () => {
        const key = `fence:${randomUUID()}`;
        const tokens: bigint[] = [];
        for (const fail of [false, true, true, false]) {
          await client
            .transaction(async (tx) => {
              const { fencingToken } = await lockInTransaction(tx, key, { mode, fencing: true });
              tokens.push(fencingToken!);
              if (fail) throw new Error('roll back');
            })
            .catch(() => undefined);
        }
        expect(tokens).toHaveLength(4);
        expect([...new Set(tokens)].sort((a, b) => Number(a - b))).toEqual(tokens);
      });
    });

    it('refuses a transaction that has ended, by commit or by rollback', async () => {
      for (const end of ['commit', 'rollback'] as const) {
        let kept: TransactionSource | undefined;
        const ended = client.transaction(async (tx, sql) => {
          kept = tx;
          await sql('SELECT 1');
          if (end === 'rollback') throw new Error('roll back');
        });
        await ended.catch(() => undefined);
        await expect(lockInTransaction(kept!, 'k')).rejects.toMatchObject({
          code: LockErrorCode.Options,
          message: expect.stringMatching(/ended already|not in a transaction/),
        });
      }
    });

    it('refuses what is no open transaction, and says what is accepted', async () => {
      for (const [what, tx] of Object.entries(await client.notTransactions())) {
        const refused = lockInTransaction(tx as TransactionSource, 'nobody');
        await expect(refused.catch((error: unknown) => ({ what, error }))).resolves.toMatchObject({
          what,
          error: {
            code: LockErrorCode.Options,
            message: expect.stringMatching(
              what === 'a Pool' ? /a Pool of.* Hand over a c/ : /Hand over|not in a transaction/,
            ),
          },
        });
      }
    });

    if (shareAnOrigin) {
      it('takes the transactions of one pool for those of one server', async () => {
        const origin = (): Promise<object> => client.transaction(async (tx) => openSession(tx).origin);
        const [first, second] = [await origin(), await origin()];
        expect(first).toBe(second);
        const another = await make(url());
        try {
          expect(await another.transaction(async (tx) => openSession(tx).origin)).not.toBe(first);
        } finally {
          await another.close();
        }
      });
    }
  });
}
