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
