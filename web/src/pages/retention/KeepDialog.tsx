// How much of one chat is kept: never more than its organisation keeps.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { useWords } from "../../i18n";
import { useLanguage } from "../../i18n/language";
import { ConfirmDialog, Dialog, Unread } from "../../ui";
import { bytes } from "../../ui/numbers";
import { BoundFields, useBounds } from "./bounds";
import { words } from "./words";

export function KeepDialog({ sessionId, onClose }: { sessionId: string; onClose: () => void }) {
  const t = useWords(words);
  const kept = useQuery({
    queryKey: keys.retention(sessionId),
    queryFn: () => unwrap(api.GET("/api/v1/sessions/{session_id}/retention", at(sessionId))),
    gcTime: 0, // read anew each time: fields are filled once
  });
  if (kept.data === undefined) {
    return (
      <Dialog title={t.title} onClose={onClose}>
        <Unread of={kept} />
      </Dialog>
    );
  }
  return <Form sessionId={sessionId} kept={kept.data} onClose={onClose} />;
}

function Form(props: { sessionId: string; kept: Schemas["SessionRetention"]; onClose: () => void }) {
  const t = useWords(words);
  const language = useLanguage();
  const client = useQueryClient();
  const { sessionId, kept, onClose } = props;
  const bounds = useBounds(kept.own);
  const save = async () => {
    const body = bounds.wanted;
    await unwrap(api.PUT("/api/v1/sessions/{session_id}/retention", { ...at(sessionId), body }));
    void client.invalidateQueries({ queryKey: keys.retention(sessionId) });
  };
  return (
    <ConfirmDialog title={t.title} confirm={t.save} onConfirm={save} onClose={onClose}>
      <p>
        {t.help} {t.stored(bytes(kept.stored_bytes, language))} {kept.first_event_id > 1 && t.cut}
      </p>
      <BoundFields of={bounds} org={kept.org} />
    </ConfirmDialog>
  );
}

function at(sessionId: string) {
  return { params: { path: { session_id: sessionId } } };
}
