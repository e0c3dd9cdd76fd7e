import { useState } from "react";
import { useWords } from "../../../i18n";
import { ConfirmDialog, Field, Input } from "../../../ui";
import type { Session } from "../list/sessions";
import { words } from "../words";
import { useChange } from "./change";

export const TITLE_CHARS_MAX = 200;

export function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const t = useWords(words);
  const [title, setTitle] = useState(session.title ?? "");
  const { patch } = useChange(session);
  return (
    <ConfirmDialog
      title={t.rename}
      confirm={t.save}
      onConfirm={() => patch({ title: title.trim() || null })}
      onClose={onClose}
    >
      <Field label={t.titleOf}>
        <Input
          autoFocus
          value={title}
          maxLength={TITLE_CHARS_MAX}
          onChange={(event) => setTitle(event.target.value)}
        />
      </Field>
    </ConfirmDialog>
  );
}
