import { contestants } from '../contestants/index.mjs';
import { inRounds, medians, ratiosTo } from './rounds.mjs';

const KEYS = 100;

/** Takes a free key and gives it back, one after the other; `names[0]` is what the others are compared with. */
export async function uncontended(names, context, { rounds, calls }) {
  const opened = await Promise.all(names.map((name) => contestants[name](context)));
  const cases = Object.fromEntries(
    opened.map(({ withLock }, index) => [
      names[index],
      async (count) => {
        for (let call = 0; call < count; call += 1) await withLock(`free:${call % KEYS}`, async () => undefined);
      },
    ]),
  );
  const times = await inRounds(cases, { rounds, calls });
  await Promise.all(opened.map(({ close }) => close()));
  return { rounds, calls, base: names[0], microseconds: medians(times), ratio: ratiosTo(names[0], times) };
}
