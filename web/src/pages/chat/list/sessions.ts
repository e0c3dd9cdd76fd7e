// The chats of this person, page by page.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";

export type Session = Schemas["Session"];
export type Filter = "open" | "needs" | "running" | "archived" | "closed";

const PAGE = 50;

const QUERIES = {
  open: { archived: false, status: "active" },
  needs: { state: "needs_you" },
  running: { state: "running" },
  archived: { archived: true },
  closed: { archived: false, status: "closed" },
} as const;

export function useSessions(filter: Filter) {
  const query = { ...QUERIES[filter], members: false, limit: PAGE };
  const found = useInfiniteQuery({
    queryKey: keys.sessions("list", filter),
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/api/v1/sessions", {
          params: { query: pageParam === null ? query : { ...query, cursor: pageParam } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
  const pages = found.data?.pages;
  const items = useMemo(() => inOrder(pages?.flatMap((page) => page.items) ?? []), [pages]);
  return { ...found, items };
}

/** News change single chats: their place follows at once. Pages may overlap for a moment. */
function inOrder(sessions: readonly Session[]): Session[] {
  const each = new Map(sessions.map((session) => [session.id, session]));
  return [...each.values()].sort(
    (a, b) =>
      Number(b.pinned) - Number(a.pinned) ||
      b.last_activity_at - a.last_activity_at ||
      (a.id < b.id ? 1 : -1),
  );
}

export function useSearch(wanted: string) {
  const q = wanted.trim();
  return useQuery({
    queryKey: ["session-search", q],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/sessions/search", { params: { query: { q, limit: 50 } }, signal })),
    enabled: q !== "",
    placeholderData: (before) => before,
  });
}
