// Writes what is generated into the documentation: the guarantee matrix of the README.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuild, ensureDependencies } from './support/ensure.mjs';
import { guaranteesTable, withGuarantees } from './support/guarantees-table.mjs';
import { root } from './support/run.mjs';

await ensureDependencies();
await ensureBuild();
const { memoryStore } = await import('nestjs-distributed-lock/memory');
const { redisStore } = await import('nestjs-distributed-lock/redis');
const { sqliteStore } = await import('nestjs-distributed-lock/sqlite');

const stores = [redisStore({ url: 'redis://localhost' }), sqliteStore({ filename: 'locks.db' }), memoryStore()];
const readme = join(root, 'README.md');
writeFileSync(readme, withGuarantees(readFileSync(readme, 'utf8'), guaranteesTable(stores)));
