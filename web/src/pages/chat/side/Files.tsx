// The files that a chat made or changed, as its machine has them now.
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { api, unwrap } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { fileAddress } from "../../../markdown/links.ts";
import { Badge, Empty, Time, Unread } from "../../../ui";
import type { Session } from "../list/sessions";
import { bytes } from "../../../ui/numbers.ts";
import css from "./side.module.css";
import { FileName } from "../FileName";
import { words } from "./words";

/** Files elsewhere on the machine are named, and not to be had. */
const isThere = (file: { path: string; size: number | null }) => file.size !== null && !file.path.startsWith("/");

export function Files({ session }: { session: Session }) {
  const t = useWords(words);
  const language = useLanguage();
  const found = useQuery({
    queryKey: [...keys.session(session.id), "files", session.last_turn?.ended_at],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/sessions/{session_id}/files", { params: { path: { session_id: session.id } } }),
      ),
    enabled: session.state !== "offline",
    placeholderData: (before) => before,
  });
  const { data } = found;
  if (session.state === "offline" && data === undefined) return <p className={css.part}>{t.offline}</p>;
  if (data === undefined) return <Unread of={found} />;
  if (data.files.length === 0) return <Empty title={t.noFiles}>{t.noFilesHelp}</Empty>;
  return (
    <ul className={css.files}>
      {data.files.toReversed().map((file) => (
        <li key={file.path} className={css.file}>
          <FileName path={file.path} className={css.path} sessionId={isThere(file) ? session.id : null} />
          <span className={css.fileFacts}>
            <Badge tone={file.change === "deleted" ? "warn" : "neutral"}>{t[file.change]}</Badge>
            {file.size !== null && <span>{bytes(file.size, language)}</span>}
            {file.modified_at !== null && <Time at={file.modified_at} />}
          </span>
          {isThere(file) && (
            <a
              className={css.download}
              href={fileAddress(session.id, file.path)}
              download
              aria-label={t.download(file.path)}
              title={t.download(file.path)}
            >
              <Download size={15} aria-hidden />
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}
