import { Injectable } from '@nestjs/common';

/** What one instance is told by its environment. */
@Injectable()
export class ShopConfig {
  readonly name = process.env.SHOP_NAME ?? `shop:${process.pid}`;
  readonly port = Number(process.env.PORT ?? 3000);
  /** Shared by all instances. */
  readonly file = process.env.SHOP_FILE ?? 'shop.sqlite';
  /** Where the locks are; without it they are in the shop's file. */
  readonly lockUrl = process.env.LOCK_URL;
  readonly lockTtl = process.env.LOCK_TTL ?? '30s';
  /** How long a payment takes, in ms. */
  readonly paymentTime = Number(process.env.PAYMENT_TIME ?? 8);
  /** The number of the payment that never comes back; 0 for none. For the demo. */
  readonly stuckPayment = Number(process.env.STUCK_PAYMENT ?? 0);
}
