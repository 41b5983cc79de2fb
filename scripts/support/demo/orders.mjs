/** What was really sold: read from the file, past the application. */
export async function readOrders(file, item) {
  // Not installed yet when the demo is started on a fresh clone.
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare('SELECT purchase_id AS purchaseId, sold_by AS soldBy FROM orders WHERE item = ?').all(item);
  } finally {
    database.close();
  }
}
