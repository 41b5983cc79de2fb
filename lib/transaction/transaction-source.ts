import type { SqlTransaction } from './sql-transaction.js';

type AnyFunction = (...args: never[]) => unknown;

/** `pg`'s Client and PoolClient, a connection of `mysql2` (either flavour), TypeORM's EntityManager and QueryRunner. */
export interface QueryingTransaction {
  readonly query: AnyFunction;
}

/** Knex's Transaction. */
export interface KnexTransaction {
  readonly raw: AnyFunction;
  readonly isTransaction?: boolean;
}

/** Kysely's Transaction. */
export interface KyselyTransaction {
  readonly executeQuery: AnyFunction;
  readonly isTransaction: boolean;
}

/** A transaction as its library made it (which library it is, is told from its shape), or an adapter. */
export type TransactionSource = SqlTransaction | QueryingTransaction | KnexTransaction | KyselyTransaction;

export const ACCEPTED_TRANSACTIONS =
  'a Client or PoolClient of pg, a connection of mysql2, an EntityManager or QueryRunner of TypeORM, ' +
  "a Transaction of Knex or Kysely, each with a transaction open, or an adapter { dialect: 'postgres' | 'mysql', query: (text) => rows }";
