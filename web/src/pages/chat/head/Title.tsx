// The title of a chat, changed where it stands.
import { useState } from "react";
import { useWords } from "../../../i18n";
import { Input } from "../../../ui";
import { isComposing } from "../../../ui/composing.ts";
import type { Session } from "../list/sessions";
import { useChange } from "../menu/change";
import { TITLE_CHARS_MAX } from "../menu/RenameDialog";
import { words as shared } from "../words";
import css from "./head.module.css";
import { words } from "./words";

export function Title({ session }: { session: Session }) {
  const t = useWords(words);
  const shown = useWords(shared);
  const [draft, setDraft] = useState<string | null>(null);
  const { set } = useChange(session);
  const title = session.title ?? shown.untitled;
  if (draft === null) {
    return (
      <h1 title={title}>
        <button
          type="button"
          className={css.name}
          aria-label={`${title}: ${t.editTitle}`}
          onClick={() => setDraft(session.title ?? "")}
        >
          {title}
        </button>
      </h1>
    );
  }
  const save = () => {
    const now = draft.trim() || null;
    if (now !== session.title) set({ title: now });
    setDraft(null);
  };
  return (
    <Input
      autoFocus
      aria-label={t.title}
      value={draft}
      maxLength={TITLE_CHARS_MAX}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (isComposing(event.nativeEvent)) return;
        if (event.key === "Enter") save();
        else if (event.key === "Escape") setDraft(null);
      }}
    />
  );
}
