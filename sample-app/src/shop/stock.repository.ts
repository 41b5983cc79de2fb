import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import { ShopDatabase } from './shop.database.js';

@Injectable()
export class StockRepository {
  constructor(private readonly database: ShopDatabase) {}

  read(item: string): number {
    const row = this.database.prepare<[string], { left: number }>('SELECT left FROM stock WHERE item = ?').get(item);
    return row?.left ?? 0;
  }

  /** Believes whoever writes. */
  write(item: string, left: number): void {
    this.database.prepare('UPDATE stock SET left = ? WHERE item = ?').run(left, item);
  }

  /**
   * Believes only the newest holder of the lock. A process that was asleep past its lease, and does not know that it has
   * lost the lock, comes with a smaller fencing token than the one that has written since.
   */
  writeFenced(item: string, left: number, fence: bigint): void {
    const { changes } = this.database
      .prepare(
        `INSERT INTO stock (item, left, fence) VALUES (@item, @left, @fence)
         ON CONFLICT (item) DO UPDATE SET left = @left, fence = @fence WHERE fence <= @fence`,
      )
      .run({ item, left, fence });
    if (changes === 0)
      throw new ServiceUnavailableException(`Somebody else has changed the stock of ${item}; try again.`);
  }
}
