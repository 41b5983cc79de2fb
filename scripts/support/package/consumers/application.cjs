require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DistributedLock, LockModule, LockService } = require('nestjs-distributed-lock');
const { memoryStore } = require('nestjs-distributed-lock/memory');
const { runApplication } = require('./exercise.cjs');

// An error that nobody catches ends the process with a code of its own.
void runApplication({ Module, NestFactory, DistributedLock, LockModule, LockService, memoryStore });
