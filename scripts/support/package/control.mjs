import { CommandFailed } from './command.mjs';
import { NotPossible } from './report.mjs';

/**
 * Where something is known to be out of reach for a reason that is not ours, a failure counts as that
 * only while the control, which is the same without this package, fails too.
 */
export async function unlessAlone(control, reason, attempt) {
  try {
    await attempt();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    try {
      await control();
    } catch {
      throw new NotPossible(reason);
    }
    throw error;
  }
}
