// A code that logs a phone in, where the phone can reach this address at all.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { api, unwrap } from "../../api/client";
import { BY_HAND } from "../../api/keys";
import { useMe } from "../../api/me";
import { useWords } from "../../i18n";
import { Button, CodeLine, Dialog, ErrorNote, Waiting } from "../../ui";
import { words } from "./words";

const Qr = lazy(() => import("../../ui/Qr"));

export function PhoneDialog({ isLocal, onClose }: { isLocal: boolean; onClose: () => void }) {
  const t = useWords(words);
  return (
    <Dialog
      title={t.phoneTitle}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t.close}</Button>}
    >
      {isLocal ? <p>{t.phoneLocal}</p> : <LoginCode />}
    </Dialog>
  );
}

function LoginCode() {
  const t = useWords(words);
  const me = useMe();
  const { data, error } = useQuery({
    queryKey: ["login-link"],
    queryFn: () => {
      const params = { path: { user_id: me.user.id } };
      return unwrap(api.POST("/api/v1/users/{user_id}/login-link", { params }));
    },
    staleTime: Infinity, // each is one more link that lets somebody in
    meta: BY_HAND,
    gcTime: 0,
    retry: false,
  });
  if (error !== null) return <ErrorNote error={error} />;
  if (data === undefined) return <Waiting />;
  return (
    <>
      <Suspense fallback={<Waiting />}>
        <Qr text={data.url} label={t.phoneCode} />
      </Suspense>
      <CodeLine label={t.phoneLink} text={data.url} hint={t.phoneOnce} />
    </>
  );
}
