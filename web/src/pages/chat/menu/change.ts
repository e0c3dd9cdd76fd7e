// What can be done to a chat, by the API; lists and the open chat follow.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { wordsNow } from "../../../i18n";
import { toast } from "../../../ui";
import type { Session } from "../list/sessions";
import { words } from "../words";

export function useChange(session: Session) {
  const client = useQueryClient();
  const path = { session_id: session.id };
  const changed = (now: Session) => {
    client.setQueryData(keys.session(session.id), (kept: Session | undefined) =>
      kept === undefined ? undefined : { ...now, resume: kept.resume },
    );
    void client.invalidateQueries({ queryKey: keys.sessions() });
  };
  const patch = async (body: Schemas["SessionPatch"]) =>
    changed(await unwrap(api.PATCH("/api/v1/sessions/{session_id}", { params: { path }, body })));
  const quietly = useMutation({ mutationFn: patch, onError: toast });
  return {
    /** For a dialog, which shows what went wrong. */
    patch,
    set: quietly.mutate,
    async remove(erase: boolean) {
      const params = { path, query: { erase } };
      await unwrap(api.DELETE("/api/v1/sessions/{session_id}", { params }));
      if (erase) client.removeQueries({ queryKey: keys.session(session.id) });
      else void client.invalidateQueries({ queryKey: keys.session(session.id) });
      void client.invalidateQueries({ queryKey: keys.sessions() });
    },
  };
}

/** A copy, and on to it. `before`: it ends before that turn; `from`: with that one. */
export function useFork(sessionId: string) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return async (where: { before?: string; from?: string }, clientId: string) => {
    const body = {
      client_id: clientId,
      title_suffix: wordsNow(words).forkSuffix,
      ...(where.before !== undefined && { before_turn: where.before }),
      ...(where.from !== undefined && { from_turn: where.from }),
    };
    const made = await unwrap(
      api.POST("/api/v1/sessions/{session_id}/fork", { params: { path: { session_id: sessionId } }, body }),
    );
    void client.invalidateQueries({ queryKey: keys.sessions() });
    return {
      id: made.id,
      open: () => navigate({ to: "/chat/$sessionId", params: { sessionId: made.id } }),
    };
  };
}

export function exportAddress(sessionId: string, format: "markdown" | "jsonl"): string {
  return `/api/v1/sessions/${encodeURIComponent(sessionId)}/export?format=${format}`;
}

export function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
