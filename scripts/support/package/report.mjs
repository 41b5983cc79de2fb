import { availableParallelism } from 'node:os';
import { table } from '../table.mjs';
import { createPool } from './pool.mjs';

/** Says that what was to be tried cannot work, and not because of this package. */
export class NotPossible extends Error {}

/** Runs the cells of some tables, prints each as it ends, and all of them as tables. */
export class Report {
  #pool = createPool(Math.min(4, availableParallelism()));
  #cells = [];
  #notes = new Set();
  #titles = new Map();
  #running = [];
  #only;

  /** @param only a part of the names of the cells that are run */
  constructor(only = '') {
    this.#only = only;
  }

  /**
   * Runs a cell as soon as what it needs is there.
   *
   * @param place its table, row and column
   * @param needs functions that give promises; their results are given to `work`
   */
  cell(place, needs, work) {
    if (!nameOf(place).includes(this.#only)) return;
    const cell = { ...place, state: 'not run' };
    this.#cells.push(cell);
    this.#running.push(this.#start(cell, needs, work));
  }

  /** Calls a column otherwise in the tables, once more is known about it. */
  titleColumn(column, title) {
    this.#titles.set(column, title);
  }

  async done() {
    await Promise.all(this.#running);
  }

  async #start(cell, needs, work) {
    let needed;
    try {
      needed = await Promise.all(needs.map((need) => need()));
    } catch {
      // Whoever made what is missing has told why.
      return;
    }
    await this.#pool(() => this.#run(cell, () => work(...needed)));
  }

  async #run(cell, work) {
    const start = performance.now();
    try {
      await work();
      cell.state = 'ok';
    } catch (error) {
      if (error instanceof NotPossible) {
        cell.state = '–';
        this.#notes.add(error.message);
      } else {
        cell.state = 'FAILED';
        cell.message = error.message;
      }
    }
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${cell.state.padEnd(6)} ${nameOf(cell)} (${seconds} s)`);
    if (cell.message) console.error(`\n${cell.message}\n`);
  }

  get failed() {
    if (this.#cells.length === 0) return [`no cell is called ${this.#only}`];
    return this.#cells.filter(({ state }) => state !== 'ok' && state !== '–').map(nameOf);
  }

  print() {
    for (const title of new Set(this.#cells.map((cell) => cell.table))) {
      const cells = this.#cells.filter((cell) => cell.table === title);
      const rows = [...new Set(cells.map(({ row }) => row))];
      const columns = [...new Set(cells.map(({ column }) => column))];
      const state = (row, column) => cells.find((cell) => cell.row === row && cell.column === column)?.state ?? '';
      const lines = rows.map((row) => [row, ...columns.map((column) => state(row, column))]);
      console.log(`\n${table([title, ...columns.map((column) => this.#titles.get(column) ?? column)], lines)}`);
    }
    if (this.#notes.size > 0) console.log(`\n– cannot work, whatever this package does:`);
    for (const note of this.#notes) console.log(`  ${note}`);
  }
}

const nameOf = ({ table, row, column }) => `${table}: ${row}, ${column}`;
