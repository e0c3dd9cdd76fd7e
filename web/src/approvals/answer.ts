// A person's answer on its way. The first answer wins: what somebody else said is said plainly.
import { useMutation } from "@tanstack/react-query";
import { api, ApiError, unwrap, type Schemas } from "../api/client";
import { keys } from "../api/keys";
import { queryClient } from "../api/queries";
import { wordsNow } from "../i18n";
import { toast } from "../ui";
import { kindOf, type Asked } from "./question";
import { settle } from "./settled";
import { words } from "./words";

export type Answer = Omit<Schemas["ApprovalAnswer"], "session_id">;

/** Nobody waits for an answer any more, whatever it would be. */
const OVER = ["SESSION_CLOSED", "APPROVAL_NOT_FOUND", "SESSION_NOT_FOUND"];

export function useAnswer(asked: Asked) {
  return useMutation({
    mutationFn: (answer: Answer) =>
      unwrap(
        api.POST("/api/v1/approvals/{approval_id}", {
          params: { path: { approval_id: asked.requestId } },
          body: { ...answer, session_id: asked.sessionId },
        }),
      ),
    onSuccess: (_approval, answer) => {
      const isWord = kindOf(asked.event) !== "approve" && answer.confirmed;
      const how = isWord ? "answer" : answer.confirmed ? "yes" : "no";
      settle(asked, { how, scope: answer.scope ?? "once" });
      void queryClient.invalidateQueries({ queryKey: keys.approvals() });
      if (answer.scope === "always") void queryClient.invalidateQueries({ queryKey: keys.rules() });
    },
    onError: (error) => {
      if (!(error instanceof ApiError)) return;
      const isLate = error.code === "ALREADY_ANSWERED";
      if (!isLate && !OVER.includes(error.code)) return;
      settle(asked, { how: isLate ? "elsewhere" : "gone" });
      const t = wordsNow(words);
      toast(isLate ? t.elsewhere : t.gone); // the card may be gone by now
      void queryClient.invalidateQueries({ queryKey: keys.approvals() });
    },
  });
}
