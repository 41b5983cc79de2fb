import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { LockModuleOptions } from './lock-module.options.js';

export interface LockModuleExtras {
  /** Whether every module sees the service without importing the lock module. Default `true`. */
  readonly isGlobal?: boolean;
}

/** What a class that is given as `useClass` or `useExisting` must have. */
export interface LockOptionsFactory {
  createLockOptions(): LockModuleOptions | Promise<LockModuleOptions>;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<LockModuleOptions>({ moduleName: 'Lock' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createLockOptions')
    .setExtras<LockModuleExtras>({ isGlobal: true }, (definition, { isGlobal = true }) => ({
      ...definition,
      global: isGlobal,
    }))
    .build();

/** The injection token of the module's options, for tests that replace them: `.overrideProvider(LOCK_MODULE_OPTIONS)`. */
export const LOCK_MODULE_OPTIONS: string | symbol = MODULE_OPTIONS_TOKEN;
