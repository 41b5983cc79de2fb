import { Injectable } from '@nestjs/common';
import type { Order } from './order.js';
import { ShopDatabase } from './shop.database.js';

@Injectable()
export class OrderRepository {
  constructor(private readonly database: ShopDatabase) {}

  find(purchaseId: string): Order | undefined {
    return this.database
      .prepare<[string], Order>(
        'SELECT purchase_id AS purchaseId, item, sold_by AS soldBy FROM orders WHERE purchase_id = ?',
      )
      .get(purchaseId);
  }

  /** Throws when there is an order with this purchase id. */
  add(order: Order): void {
    this.database
      .prepare('INSERT INTO orders (purchase_id, item, sold_by) VALUES (@purchaseId, @item, @soldBy)')
      .run(order);
  }
}
