import { Module } from '@nestjs/common';
import { ConfigModule } from '../config.module.js';
import { OrderRepository } from './order.repository.js';
import { PaymentService } from './payment.service.js';
import { ShopController } from './shop.controller.js';
import { ShopDatabase } from './shop.database.js';
import { ShopService } from './shop.service.js';
import { StockRepository } from './stock.repository.js';

@Module({
  imports: [ConfigModule],
  controllers: [ShopController],
  providers: [ShopDatabase, StockRepository, OrderRepository, PaymentService, ShopService],
})
export class ShopModule {}
