import { NestFactory } from '@nestjs/core';
import type { AddressInfo } from 'node:net';
import 'reflect-metadata';
import { AppModule } from './app.module.js';
import { ShopConfig } from './shop.config.js';

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
// On SIGTERM running purchases finish under their locks, and the locks are given back.
app.enableShutdownHooks();
const { name, port } = app.get(ShopConfig);
await app.listen(port, '127.0.0.1');

const address = (app.getHttpServer() as { address(): AddressInfo }).address();
console.log(`${name} listens on http://127.0.0.1:${address.port}`);

// Started by another process, as the demo does: tell it the port, and do not outlive it.
process.send?.({ port: address.port });
process.once('disconnect', () => void app.close());
