import type { LockStore } from '../../lib/index.js';

export function guaranteesTable(stores: readonly Pick<LockStore, 'name' | 'guarantees'>[]): string;
export function withGuarantees(text: string, table: string): string;
