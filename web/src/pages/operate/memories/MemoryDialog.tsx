import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { Button, Dialog, ErrorNote, Field, records, Switch, Textarea } from "../../../ui";
import { words } from "./words";

/** `memory` of null: a new one, for everybody where `shared` says so. */
export function MemoryDialog(props: {
  memory: Schemas["Memory"] | null;
  shared: boolean;
  onSaved: () => Promise<unknown>;
  onClose: () => void;
}) {
  const t = useWords(words);
  const me = useMe();
  const { memory } = props;
  const isAdmin = me.user.role !== "member";
  const mayShare = isAdmin && (memory === null || memory.user_id === null || memory.user_id === me.user.id);
  const wasShared = memory === null ? props.shared && isAdmin : memory.user_id === null;
  const [content, setContent] = useState(memory?.content ?? "");
  const [shared, setShared] = useState(wasShared);
  const saving = useMutation({
    mutationFn: () => save(memory, content, shared === wasShared && memory !== null ? undefined : shared),
    onSuccess: props.onSaved,
  });
  return (
    <Dialog
      title={memory === null ? t.addTitle : t.editTitle}
      onClose={props.onClose}
      onSubmit={() => saving.mutate()}
      actions={
        <Button look="primary" type="submit" disabled={saving.isPending || content.trim() === ""}>
          {t.save}
        </Button>
      }
    >
      <div className={records.form}>
        <Field label={t.content} hint={t.contentHint}>
          <Textarea rows={4} autoFocus value={content} onChange={(event) => setContent(event.target.value)} />
        </Field>
        {mayShare && <Switch label={t.share} checked={shared} onChange={setShared} />}
        {saving.error && <ErrorNote error={saving.error} />}
      </div>
    </Dialog>
  );
}

function save(memory: Schemas["Memory"] | null, content: string, shared?: boolean): Promise<unknown> {
  if (memory === null) return unwrap(api.POST("/api/v1/memories", { body: { content, shared } }));
  const path = { memory_id: memory.id };
  return unwrap(
    api.PATCH("/api/v1/memories/{memory_id}", {
      params: { path },
      body: { content, ...(shared !== undefined && { shared }) },
    }),
  );
}
