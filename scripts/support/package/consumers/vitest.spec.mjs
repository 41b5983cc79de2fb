import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { DistributedLock, LockModule, LockService, isLockError } from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
import * as runner from 'vitest';
import { specify } from './specification.cjs';

specify(runner, { Test, DistributedLock, LockModule, LockService, isLockError, memoryStore });
