// One chat in the list: what it is called, what it does, what can be done with it.
import { Link } from "@tanstack/react-router";
import { Pin } from "lucide-react";
import { useWords } from "../../../i18n";
import { cx, Time } from "../../../ui";
import { SessionMenu } from "../menu/SessionMenu";
import { words } from "../words";
import css from "./list.module.css";
import { useIsUnseen } from "./seen";
import type { Session } from "./sessions";
import { StateMark } from "./State";

export function SessionRow(props: { session: Session; isOpen: boolean; place: string | null }) {
  const t = useWords(words);
  const { session } = props;
  const isUnseen = useIsUnseen(session.id, session.last_turn?.ended_at ?? null);
  const title = session.title ?? t.untitled;
  return (
    <div className={css.entry} data-open={props.isOpen || undefined}>
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: session.id }}
        className={css.link}
        aria-current={props.isOpen ? "page" : undefined}
      >
        <span className={css.title}>
          {session.pinned && <Pin size={12} aria-label={t.pinned} />}
          <span className={cx(css.cut, isUnseen && css.unread)} title={title}>
            {title}
          </span>
        </span>
        <StateMark session={session} />
        <span className={css.under}>
          <Time at={session.last_activity_at} />
          {props.place !== null && <span className={css.cut}>{props.place}</span>}
        </span>
      </Link>
      <span className={css.menu}>
        <SessionMenu session={session} label={t.menuOf(title)} />
      </span>
    </div>
  );
}
