// What a chat is doing, as one small mark with a name.
import { useWords } from "../../../i18n";
import { Badge, Spinner } from "../../../ui";
import css from "./list.module.css";
import { useIsUnseen } from "./seen";
import type { Session } from "./sessions";
import { words } from "../words";

export function StateMark({ session }: { session: Session }) {
  const t = useWords(words);
  const isUnseen = useIsUnseen(session.id, session.last_turn?.ended_at ?? null);
  if (session.state === "needs_you") return <Badge tone="warn">{t.needsYou}</Badge>;
  if (session.state === "running") return <Spinner label={t.running} />;
  if (isUnseen) {
    const isFailed = session.last_turn?.status === "failed";
    const said = isFailed ? t.failedUnread : t.done;
    return <Dot said={said} look={isFailed ? "failed" : "done"} />;
  }
  if (session.state === "offline") return <Dot said={t.offline} look="offline" />;
  return null;
}

function Dot({ said, look }: { said: string; look: string }) {
  return (
    <span className={css.dot} data-look={look} title={said}>
      <span className="visually-hidden">{said}</span>
    </span>
  );
}

export function StateBadge({ session }: { session: Session }) {
  const t = useWords(words);
  switch (session.state) {
    case "needs_you":
      return <Badge tone="warn">{t.needsYou}</Badge>;
    case "running":
      return <Badge tone="accent">{t.running}</Badge>;
    case "offline":
      return <Badge tone="warn">{t.offline}</Badge>;
    case "closed":
      return <Badge>{t.closed}</Badge>;
    default:
      return null;
  }
}
