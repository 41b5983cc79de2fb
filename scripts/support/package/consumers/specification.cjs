// One specification, given what a test runner makes of the imports of each format.
const { ordersUnder } = require('./exercise.cjs');

exports.specify = ({ test, expect }, { Test, DistributedLock, LockModule, LockService, isLockError, memoryStore }) => {
  test('locks with the store in memory', async () => {
    const Orders = ordersUnder(DistributedLock);
    const imports = [LockModule.forRoot({ store: memoryStore() })];
    const app = await Test.createTestingModule({ imports, providers: [Orders] }).compile();
    await app.init();
    const locks = app.get(LockService);
    const held = await locks.acquire('order:7');
    const error = await locks.withLock('order:7', { wait: 0 }, () => 'never').catch((reason) => reason);
    expect(isLockError(error, 'LOCK_CONTENDED')).toBe(true);
    await held.release();
    expect(await app.get(Orders).pay(7)).toBe('paid 7');
    await app.close();
  });
};
