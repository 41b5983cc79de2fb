import { Controller, Get, Param } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

/** For operators: who holds what? */
@Controller('locks')
export class LockController {
  constructor(private readonly locks: LockService) {}

  @Get(':key')
  async holder(@Param('key') key: string): Promise<{ holder: string | null; heldForMs?: number; waiters?: number }> {
    const found = await this.locks.inspect(key);
    if (found === undefined) return { holder: null };
    return { holder: found.holder ?? 'unknown', heldForMs: found.age, waiters: found.waiters };
  }
}
