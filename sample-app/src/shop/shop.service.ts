import { ConflictException, Injectable } from '@nestjs/common';
import { DistributedLock, lockKey, LockService, type Lock } from 'nestjs-distributed-lock';
import { ShopConfig } from '../shop.config.js';
import type { Order } from './order.js';
import { OrderRepository } from './order.repository.js';
import { PaymentService } from './payment.service.js';
import { ShopDatabase } from './shop.database.js';
import { StockRepository } from './stock.repository.js';

/**
 * Three layers, each for what the others cannot do:
 *
 * 1. The lock lets one sale of an item run at a time, in whichever process.
 * 2. The purchase id makes a repeated request harmless: the buyer gets the order that there is already.
 * 3. The database has the last word: a unique purchase id, and a fencing token that keeps out a holder who has lost the
 *    lock without knowing it.
 */
@Injectable()
export class ShopService {
  constructor(
    private readonly config: ShopConfig,
    private readonly database: ShopDatabase,
    private readonly stock: StockRepository,
    private readonly orders: OrderRepository,
    private readonly payments: PaymentService,
    private readonly locks: LockService,
  ) {}

  /** What every oversell begins with: the stock that was read is no longer true when it is written. */
  async buyUnlocked(item: string, purchaseId: string): Promise<Order> {
    return this.sell(item, purchaseId, (left) => this.stock.write(item, left));
  }

  @DistributedLock('stock:<item>')
  async buyLocked(item: string, purchaseId: string): Promise<Order> {
    const fence = this.fenceOf(this.locks.current()!);
    return this.sell(item, purchaseId, (left) => this.stock.writeFenced(item, left, fence));
  }

  /** The same lock by hand, where its handle is wanted. */
  async restock(item: string, count: number): Promise<number> {
    return this.locks.withLock(lockKey`stock:${item}`, async (lock) => {
      const left = this.stock.read(item) + count;
      // Where a body takes long, ask before each step whether it is still yours (or pass lock.signal on).
      lock.throwIfLost();
      this.stock.writeFenced(item, left, this.fenceOf(lock));
      return left;
    });
  }

  /** Some stores have no tokens (redlock); what they cannot give, nobody can compare. */
  private fenceOf(lock: Lock): bigint {
    return this.locks.guarantees().fencing === 'none' ? 0n : lock.fencingToken;
  }

  private async sell(item: string, purchaseId: string, writeStock: (left: number) => void): Promise<Order> {
    const earlier = this.orders.find(purchaseId);
    if (earlier !== undefined) return earlier;

    const left = this.stock.read(item);
    if (left === 0) throw new ConflictException(`${item} is sold out`);
    await this.payments.charge(purchaseId);

    const order: Order = { purchaseId, item, soldBy: this.config.name };
    this.database.transaction(() => {
      writeStock(left - 1);
      this.orders.add(order);
    });
    return order;
  }
}
