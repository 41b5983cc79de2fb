// One instance of a service whose handlers lock, over HTTP, and what it has left when its clients are gone.
import 'reflect-metadata';
import { Controller, Get, Module, Param, ParseIntPipe, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockEngine } from '../../lib/engine/lock.engine.js';
import { DistributedLock, LockModule, LockService } from '../../lib/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { answerCalls } from './answer-calls.js';
import { WAIT, type StormReport, type StormWorkerConfig } from './storm-worker.config.js';

const config = JSON.parse(process.argv[2]!) as StormWorkerConfig;
const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.message));

const bodies = { begun: 0, ended: 0 };
const gone = { waiting: 0, inBody: 0, before: 0 };
const begun = new WeakSet<Request>();
let answersAlive = 0;
const collected = new FinalizationRegistry(() => (answersAlive -= 1));

@Controller()
class Items {
  @Get('items/:id/:time')
  @DistributedLock('item:<id>', { wait: WAIT })
  async take(
    @Param('id') id: string,
    @Param('time', ParseIntPipe) time: number,
    @Req() request: Request,
  ): Promise<string> {
    bodies.begun += 1;
    begun.add(request);
    if (request.res?.destroyed) gone.before += 1;
    await sleep(time);
    bodies.ended += 1;
    return id;
  }
}

@Module({
  imports: [LockModule.forRoot({ store: redisStore({ url: config.redis }) })],
  controllers: [Items],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error'] });
app.use((request: Request, response: Response, next: NextFunction) => {
  answersAlive += 1;
  collected.register(response, undefined);
  response.once('close', () => {
    if (response.writableFinished) return;
    gone[begun.has(request) ? 'inBody' : 'waiting'] += 1;
  });
  next();
});
await app.listen(0, '127.0.0.1');
const server = app.getHttpServer() as Server;
const connections = new Set<Socket>();
server.on('connection', (socket) => {
  connections.add(socket);
  socket.once('close', () => connections.delete(socket));
});

const engine = app.get(LockEngine, { strict: false });
const locks = app.get(LockService);

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    // Finalizers run in a turn of their own.
    await sleep(10);
  }
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

async function report(): Promise<StormReport> {
  await collectGarbage();
  const inspected = await Promise.all(config.keys.map((key) => locks.inspect(key)));
  return {
    engine: {
      lanes: engine.laneCount,
      holds: engine.holds.size,
      contending: engine.contending.size,
      releases: engine.releases.size,
    },
    taken: inspected.flatMap((found) => found?.key ?? []),
    bodies,
    gone,
    answersAlive,
    resources: count(process.getActiveResourcesInfo()),
    listeners: Math.max(
      0,
      ...[...connections].flatMap((socket) => socket.eventNames().map((event) => socket.listenerCount(event))),
    ),
    warnings,
    heap: process.memoryUsage().heapUsed,
  };
}

answerCalls(
  {
    report,
    async stop() {
      server.closeAllConnections();
      await app.close();
    },
  },
  (server.address() as AddressInfo).port,
);
