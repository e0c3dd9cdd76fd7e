// The questions that wait for this person, over all sessions and machines: one list for the inbox,
// the navigation, the tab's title and the notifications, kept true by the stream's news.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, unwrap, type Schemas } from "../api/client";
import { keys } from "../api/keys";
import { everything } from "../api/pages";
import { onNews, useLine, type News } from "../live";
import type { Asked, Fields } from "./question";
import { settle, settledOf, useSettledCount } from "./settled";

export type Approval = Schemas["Approval"];

const PAGE = 200;
const POLL_MS = 10_000; // while there is no stream

const pendingQuery = queryOptions({
  queryKey: keys.approvals("pending"),
  queryFn: () =>
    everything((cursor) =>
      unwrap(api.GET("/api/v1/approvals", { params: { query: { state: "pending", limit: PAGE, cursor } } })),
    ),
});

export function askedOf(approval: Approval): Asked {
  return {
    sessionId: approval.session_id,
    requestId: approval.request_id,
    event: approval.request as Fields,
    askedAt: approval.created_at,
    resolution:
      approval.state === "pending"
        ? null
        : {
            confirmed: approval.state === "confirmed",
            answer: approval.answer,
            answeredBy: approval.answered_by,
            scope: null,
            reason: null,
          },
  };
}

export function usePending() {
  const line = useLine();
  const found = useQuery({ ...pendingQuery, refetchInterval: line === "live" ? false : POLL_MS });
  const settledCount = useSettledCount();
  const pending = useMemo(
    () => found.data?.filter((one) => settledOf(askedOf(one)) === null),
    // What was settled meanwhile is no part of the list, whatever an older answer says.
    [found.data, settledCount],
  );
  return { pending, error: found.error, refetch: found.refetch };
}

export function useWaitingCount(): number {
  return usePending().pending?.length ?? 0;
}

/** Once for the page, in its shell. */
export function useQuestionNews(): void {
  useEffect(() => onNews(heard), []);
}

/** The lists are read again by whoever hears the news; a question that is over is over at once. */
function heard(news: News): void {
  if (news.kind === "approval" && news.approval.state !== "pending")
    settle(askedOf(news.approval), { how: "elsewhere" });
}
