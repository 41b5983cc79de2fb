import type { SqlTransaction } from './sql-transaction.js';

type AnyFunction = (...args: never[]) => unknown;

/** `pg`'s Client and PoolClient, a connection of `mysql2` (either flavour), TypeORM's EntityManager and QueryRunner. */
export interface QueryingTransaction {
  /** Runs a statement. */
  readonly query: AnyFunction;
}

/** Knex's Transaction. */
export interface KnexTransaction {
  /** Runs a statement. */
  readonly raw: AnyFunction;
  /** What tells it from a Knex without a transaction. */
  readonly isTransaction?: boolean;
}

/** Kysely's Transaction. */
export interface KyselyTransaction {
  /** Runs a statement. */
  readonly executeQuery: AnyFunction;
  /** What tells it from a Kysely without a transaction. */
  readonly isTransaction: boolean;
}

/** A transaction as its library made it (which library it is, is told from its shape), or an adapter. */
export type TransactionSource = SqlTransaction | QueryingTransaction | KnexTransaction | KyselyTransaction;

export const ACCEPTED_TRANSACTIONS =
  'a Client or PoolClient of pg, a connection of mysql2, an EntityManager or QueryRunner of TypeORM, ' +
  "a Transaction of Knex or Kysely, each with a transaction open, or an adapter { dialect: 'postgres' | 'mysql', query: (text) => rows }";
