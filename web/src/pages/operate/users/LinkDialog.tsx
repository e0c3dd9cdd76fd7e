// How a user gets in: a link that works once.
import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { CodeLine, Dialog, ErrorNote, Waiting } from "../../../ui";
import { words } from "./words";

const Qr = lazy(() => import("../../../ui/Qr"));

type User = Schemas["User"];

export function LinkDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const t = useWords(words);
  const language = useLanguage();
  const link = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/users/{user_id}/login-link", { params: { path: { user_id: user.id } } })),
  });
  const { mutate } = link;
  useEffect(() => mutate(), [mutate]);
  return (
    <Dialog title={t.linkTitle(user.name)} onClose={onClose}>
      {link.error !== null && <ErrorNote error={link.error} retry={() => mutate()} />}
      {link.isPending && <Waiting />}
      {link.data !== undefined && (
        <>
          <p>{t.linkHelp}</p>
          <CodeLine
            label={t.link}
            text={link.data.url}
            hint={`${t.linkUntil} ${new Date(link.data.expires_at).toLocaleTimeString(language)}`}
          />
          <Suspense fallback={<Waiting />}>
            <Qr text={link.data.url} label={t.linkCode} />
          </Suspense>
        </>
      )}
    </Dialog>
  );
}
