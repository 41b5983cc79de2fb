// What an application does with the package. The two formats differ in how they come by these names, and in nothing else.
const assert = require('node:assert/strict');

class Orders {
  async pay(orderId) {
    return 'paid ' + orderId;
  }
}

/** By hand, as a compiler does it for `@DistributedLock(…)`. */
exports.ordersUnder = (DistributedLock) => {
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'pay');
  DistributedLock('order:<orderId>')(Orders.prototype, 'pay', descriptor);
  Object.defineProperty(Orders.prototype, 'pay', descriptor);
  return Orders;
};

exports.runApplication = async ({ Module, NestFactory, DistributedLock, LockModule, LockService, memoryStore }) => {
  const Orders = exports.ordersUnder(DistributedLock);
  class App {}
  Module({ imports: [LockModule.forRoot({ store: memoryStore() })], providers: [Orders] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  assert.equal(await app.get(LockService).withLock('order:1', () => 'done'), 'done');
  assert.equal(await app.get(Orders).pay(7), 'paid 7');
  await app.close();
};
