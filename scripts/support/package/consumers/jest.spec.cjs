require('reflect-metadata');
const runner = require('@jest/globals');
const { Test } = require('@nestjs/testing');
const { DistributedLock, LockModule, LockService, isLockError } = require('nestjs-distributed-lock');
const { memoryStore } = require('nestjs-distributed-lock/memory');
const { specify } = require('./specification.cjs');

specify(runner, { Test, DistributedLock, LockModule, LockService, isLockError, memoryStore });
