// Lists that come in pages: what was read so far, and how to read on.
import { useInfiniteQuery } from "@tanstack/react-query";

type PageOf<T> = { items: T[]; next_cursor?: string | null };

export type Pages<T> = {
  items: T[] | undefined;
  error: unknown;
  /** Null at the end of the list. */
  more: (() => void) | null;
  isReadingMore: boolean;
  readAgain: () => void;
};

/** `key`: one of `keys`; whatever makes it old makes this old too. */
export function usePages<T>(
  key: readonly unknown[],
  read: (cursor: string | undefined) => Promise<PageOf<T>>,
): Pages<T> {
  const query = useInfiniteQuery({
    queryKey: [...key, "pages"],
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
  return {
    items: query.data?.pages.flatMap((page) => page.items),
    error: query.error,
    more: query.hasNextPage ? () => void query.fetchNextPage() : null,
    isReadingMore: query.isFetchingNextPage,
    readAgain: () => void query.refetch(),
  };
}

const ITEMS_MAX = 2_000;

/** All items, for choices and names; a list that is shown is read page by page. */
export async function everything<T>(
  read: (cursor: string | undefined) => Promise<PageOf<T>>,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && items.length < ITEMS_MAX);
  return items;
}
