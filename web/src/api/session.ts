// One session's record. News of the stream keep it true (live/news.ts).
import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import { keys } from "./keys";

export const sessionQuery = (sessionId: string) =>
  queryOptions({
    queryKey: keys.session(sessionId),
    queryFn: () =>
      unwrap(api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: sessionId } } })),
  });
