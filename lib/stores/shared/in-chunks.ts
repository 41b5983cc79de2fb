/** What `work` gives for `items`, in their order, asked for in parts of at most `size` at the same time. */
export async function inChunks<T, R>(
  items: readonly T[],
  size: number,
  work: (chunk: readonly T[]) => Promise<R[]>,
): Promise<R[]> {
  const chunks: Promise<R[]>[] = [];
  for (let from = 0; from < items.length; from += size) chunks.push(work(items.slice(from, from + size)));
  return (await Promise.all(chunks)).flat();
}

/** What `work` gives for `items`, in their order, asked for by groups at the same time. */
export async function inGroups<T, R>(
  items: readonly T[],
  groupOf: (item: T) => unknown,
  work: (group: readonly T[]) => Promise<R[]>,
): Promise<R[]> {
  const groups = new Map<unknown, { readonly items: T[]; readonly places: number[] }>();
  items.forEach((item, place) => {
    const key = groupOf(item);
    const group = groups.get(key) ?? { items: [], places: [] };
    group.items.push(item);
    group.places.push(place);
    groups.set(key, group);
  });
  if (groups.size < 2) return work(items);
  const results = new Array<R>(items.length);
  const answered = async (group: { readonly items: T[]; readonly places: number[] }): Promise<void> => {
    const answers = await work(group.items);
    answers.forEach((answer, index) => (results[group.places[index] ?? 0] = answer));
  };
  await Promise.all([...groups.values()].map(answered));
  return results;
}
