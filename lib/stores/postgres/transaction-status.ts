import type { PgClient } from './postgres.client.js';

/** What the server says of a session whenever it is ready: idle, in a transaction, or in one that has failed. */
type TransactionStatus = 'I' | 'T' | 'E';

/** Of clients that do not say it themselves, as those of an older pg. */
const heard = new WeakMap<PgClient, TransactionStatus | undefined>();

/** Asked of a client whose status is not known yet. Without parameters: the two times then differ in a transaction only. */
export const STATUS_QUESTION = 'SELECT now() = statement_timestamp() AS outside';

/** The last status of a client, unless something is still under way on it. */
export function transactionStatus(client: PgClient): TransactionStatus | undefined {
  if (client.readyForQuery === false) return undefined;
  // pg-native may have the method and know nothing.
  const said = client.getTransactionStatus?.();
  return said ? (said as TransactionStatus) : listenTo(client);
}

function listenTo(client: PgClient): TransactionStatus | undefined {
  if (!heard.has(client)) {
    heard.set(client, undefined);
    client.connection?.on?.('readyForQuery', (message) => {
      heard.set(client, (message as { status?: TransactionStatus } | undefined)?.status);
    });
  }
  return heard.get(client);
}
