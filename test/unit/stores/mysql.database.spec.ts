import { expect, it } from '@jest/globals';
import { findDatabase } from '../../../lib/stores/mysql/mysql.database.js';

const server = (selected: string | null, folds: number) => () =>
  Promise.resolve({ rows: [{ selected, folds }], changes: 0 });

it.each([
  ['app', 'other', 0, 'app'],
  [undefined, 'other', 0, 'other'],
  ['App', 'App', 0, 'App'],
  // Such servers take App and app for the same.
  ['App', 'app', 1, 'app'],
  [undefined, 'App', 2, 'app'],
])('of a pool with %s, whose session has selected %s (lower_case_table_names %s), it takes %s', async (...args) => {
  const [configured, selected, folds, found] = args;
  expect(await findDatabase(server(selected, folds), configured)).toBe(found);
});

it('refuses names that are none, or that statements could not be written with', async () => {
  await expect(findDatabase(server(null, 0), undefined)).rejects.toThrow('Put /database into the connection');
  for (const name of ['what?', 'me@home', 'two  blanks', 'a\ttab']) {
    await expect(findDatabase(server(null, 0), name)).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
  }
});
