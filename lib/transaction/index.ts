export { lockInTransaction, type TransactionHold } from './lock-in-transaction.js';
export { LockTransactionError, type TransactionFailure, type TransactionState } from './lock-transaction.error.js';
export type { SqlTransaction, TransactionDialect } from './sql-transaction.js';
export { transactionSchema } from './transaction.schema.js';
export type { TransactionLockMode, TransactionLockOptions } from './transaction.options.js';
export type {
  KnexTransaction,
  KyselyTransaction,
  QueryingTransaction,
  TransactionSource,
} from './transaction-source.js';
