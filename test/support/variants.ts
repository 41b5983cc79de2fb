/** The variants of a store that run: all, or the one that STORE_VARIANT names. */
export function chosenVariants<T>(variants: Readonly<Record<string, T>>): [name: string, variant: T][] {
  const chosen = process.env['STORE_VARIANT'];
  const entries = Object.entries(variants);
  if (!chosen) return entries;
  const found = entries.filter(([name]) => name === chosen);
  if (found.length > 0) return found;
  throw new Error(`There is no variant "${chosen}": ${entries.map(([name]) => name).join(', ')}`);
}
