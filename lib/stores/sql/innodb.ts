/**
 * What engine a table of MySQL or MariaDB has. Always one row: `name`, `found` (0: there is no such table, or none that this user may see) and
 * `engines`, which is NULL for a view and has several where a temporary table hides another. Queries of several tables are joined
 * by UNION ALL: MariaDB opens but the one table for an equation, and all of the database for a list.
 *
 * @param database an SQL expression
 * @param table a plain identifier
 */
export function engineQuery(database: string, table: string): string {
  return (
    `SELECT '${table}' AS name, COUNT(*) AS found, GROUP_CONCAT(engine) AS engines FROM information_schema.tables ` +
    `WHERE table_schema = ${database} AND table_name = '${table}'`
  );
}

/** What is wrong with the engine of a table that {@link engineQuery} has found, and the fix. */
export function engineProblem({ name, engines }: Readonly<Record<string, unknown>>): string | undefined {
  const found = typeof engines === 'string' ? engines.split(',') : [];
  const other = found.find((engine) => engine !== 'InnoDB');
  return (
    other &&
    `the engine of the table "${String(name)}" is ${other}, but must be InnoDB: others do not lock rows, so that two would hold ` +
      `one key at the same time. Run ALTER TABLE \`${String(name)}\` ENGINE=InnoDB.`
  );
}
