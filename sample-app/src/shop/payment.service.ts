import { Injectable } from '@nestjs/common';
import { setTimeout } from 'node:timers/promises';
import { ShopConfig } from '../shop.config.js';

/** Stands for a payment provider: a call that takes a few ms, in which other requests run. */
@Injectable()
export class PaymentService {
  private calls = 0;

  constructor(private readonly config: ShopConfig) {}

  /** A real provider takes the purchase id as well, so that a repeated purchase is charged once. */
  async charge(_purchaseId: string): Promise<void> {
    this.calls += 1;
    if (this.calls === this.config.stuckPayment) await stuck();
    await setTimeout(this.config.paymentTime);
  }
}

/** Tells the demo, which then kills this process in the middle of a sale. */
function stuck(): Promise<never> {
  process.send?.({ stuck: true });
  return new Promise(() => undefined);
}
