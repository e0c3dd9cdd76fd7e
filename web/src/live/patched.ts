// A list that was read, with one record of it as it is now. For lists of one page and of many.

type Item = { id: string };

export function patched(kept: unknown, record: Item): unknown {
  if (typeof kept !== "object" || kept === null) return kept;
  if ("pages" in kept && Array.isArray(kept.pages)) {
    const pages = kept.pages.map((page) => patched(page, record));
    return pages.some((page, at) => page !== (kept.pages as unknown[])[at]) ? { ...kept, pages } : kept;
  }
  if (!("items" in kept) || !Array.isArray(kept.items)) return kept;
  const items = kept.items as readonly Item[];
  if (!items.some((one) => one.id === record.id)) return kept;
  return { ...kept, items: items.map((one) => (one.id === record.id ? record : one)) };
}
