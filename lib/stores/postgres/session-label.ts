import type { StoreInspection } from '../../contract/index.js';
import type { AskSession } from '../sql/session/session.dialect.js';

/** The setting in which a session says whose it is: the one that every role sees of every other. */
export const LABEL_SETTING = 'application_name';

// NAMEDATALEN less one: PostgreSQL cuts off the rest.
const LONGEST = 63;
// It keeps printable ASCII only. The percent sign is what all else is written with.
const KEPT = /^[ -$&-~]$/;

/** A label as the setting can hold it, cut between two characters. */
export function labelSetting(label: string): string {
  let setting = '';
  for (const character of label) {
    const written = KEPT.test(character) ? character : inPercents(character);
    if (setting.length + written.length > LONGEST) break;
    setting += written;
  }
  return setting;
}

export async function setLabel(ask: AskSession, label: string): Promise<void> {
  await ask(`SELECT set_config('${LABEL_SETTING}', $1, false)`, [labelSetting(label)]);
}

/** From a row with `pid`, `name` (what the setting was set to) and `waiters`. */
export function readHolder(row: Readonly<Record<string, unknown>>): StoreInspection {
  const { pid, name, waiters } = row;
  const label = typeof name === 'string' && name !== '' ? readLabel(name) : `session ${String(pid)}`;
  return { label, waiters: Number(waiters) };
}

function inPercents(character: string): string {
  return Buffer.from(character, 'utf8').toString('hex').replaceAll(/../g, '%$&');
}

function readLabel(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    // Whoever took the lock by other means may be called anything.
    return name;
  }
}
