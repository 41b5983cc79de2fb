import { Module } from '@nestjs/common';
import { ShopConfig } from './shop.config.js';

@Module({ providers: [ShopConfig], exports: [ShopConfig] })
export class ConfigModule {}
