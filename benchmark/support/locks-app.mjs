import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from 'nestjs-distributed-lock';
import 'reflect-metadata';

/** A Nest application with locks in `store` and nothing else but `providers`. */
export async function locksApp(store, providers = []) {
  class App {}
  Module({ imports: [LockModule.forRoot({ store, wait: Infinity })], providers })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'], abortOnError: false });
  return { app, locks: app.get(LockService), close: () => app.close() };
}
