import type { LoggerService } from '@nestjs/common';

const nothing = () => undefined;

export const silent: LoggerService = { log: nothing, error: nothing, warn: nothing };
