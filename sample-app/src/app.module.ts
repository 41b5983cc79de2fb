import { Module } from '@nestjs/common';
import { LockModule } from 'nestjs-distributed-lock';
import { ConfigModule } from './config.module.js';
import { LockController } from './locks/lock.controller.js';
import { lockOptions } from './locks/lock.options.js';
import { ShopConfig } from './shop.config.js';
import { ShopModule } from './shop/shop.module.js';

@Module({
  imports: [
    LockModule.forRootAsync({ isGlobal: true, imports: [ConfigModule], inject: [ShopConfig], useFactory: lockOptions }),
    ShopModule,
    ConfigModule,
  ],
  controllers: [LockController],
})
export class AppModule {}
