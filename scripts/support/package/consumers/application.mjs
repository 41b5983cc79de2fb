import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, LockModule, LockService } from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
import { runApplication } from './exercise.cjs';

await runApplication({ Module, NestFactory, DistributedLock, LockModule, LockService, memoryStore });
