// What was written and not sent yet, for each chat, in this browser.
import { forget, remember, remembered } from "../../../app/memory";

export function draftOf(sessionId: string): string {
  return remembered(`draft.${sessionId}`) ?? "";
}

export function keepDraft(sessionId: string, text: string): void {
  if (text === "") forget(`draft.${sessionId}`);
  else remember(`draft.${sessionId}`, text);
}
