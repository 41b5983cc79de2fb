import 'reflect-metadata';
import * as runner from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DistributedLock, LockModule, LockService, isLockError } from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
import { specify } from './specification.cjs';

specify(runner, { Test, DistributedLock, LockModule, LockService, isLockError, memoryStore });
