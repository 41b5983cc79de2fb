import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DistributedLock, type DistributedLockOptions, type LockModuleOptions } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { lockModule } from './support.js';

it.each<[object, RegExp]>([
  [{ errors: 5 }, /LockModule: errors is 5, but must be a function/],
  [{ abortOnDisconnect: 'yes' }, /LockModule: abortOnDisconnect is 'yes', but must be true or false/],
])('the module refuses %o', async (options, message) => {
  const module = Test.createTestingModule({ imports: [lockModule(options as Partial<LockModuleOptions>)] });
  await expect(module.setLogger(silent).compile()).rejects.toThrow(message);
});

it('the decorator refuses an abortOnDisconnect that is neither true nor false', () => {
  const use = () => {
    class Orders {
      @DistributedLock('order', { abortOnDisconnect: 1 as never } as DistributedLockOptions)
      async pay(): Promise<void> {}
    }
    return Orders;
  };
  expect(use).toThrow(/on Orders.pay: abortOnDisconnect is 1, but must be true or false/);
});
