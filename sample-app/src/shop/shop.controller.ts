import { Body, Controller, Param, ParseIntPipe, ParseUUIDPipe, Post, Put } from '@nestjs/common';
import type { Order } from './order.js';
import { ShopService } from './shop.service.js';

@Controller()
export class ShopController {
  constructor(private readonly shop: ShopService) {}

  @Post('buy/unlocked/:item')
  buyUnlocked(@Param('item') item: string, @Body('purchaseId', ParseUUIDPipe) purchaseId: string): Promise<Order> {
    return this.shop.buyUnlocked(item, purchaseId);
  }

  @Post('buy/locked/:item')
  buyLocked(@Param('item') item: string, @Body('purchaseId', ParseUUIDPipe) purchaseId: string): Promise<Order> {
    return this.shop.buyLocked(item, purchaseId);
  }

  @Put('stock/:item')
  async restock(@Param('item') item: string, @Body('count', ParseIntPipe) count: number): Promise<{ left: number }> {
    return { left: await this.shop.restock(item, count) };
  }
}
