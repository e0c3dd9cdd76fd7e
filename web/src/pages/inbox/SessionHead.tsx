// Which session asks: its title, where it runs and with whom.
import { Link } from "@tanstack/react-router";
import { useMe } from "../../api/me";
import { useAgentName, useMachineName, useSessionRecord } from "../../approvals/names";
import { useWords } from "../../i18n";
import css from "./inbox.module.css";
import { words } from "./words";

export function SessionHead({ sessionId, count }: { sessionId: string; count?: number }) {
  const t = useWords(words);
  const me = useMe();
  const session = useSessionRecord(sessionId);
  const machine = useMachineName(session?.machine_id);
  const agent = useAgentName(session?.agent_id);
  const title = session?.title ?? t.untitled;
  const about = [
    machine && t.on(machine),
    agent && t.with(agent),
    session !== undefined && session.user_id !== me.user.id && t.whose,
    count !== undefined && count > 1 && t.of(count),
  ].filter(Boolean);
  return (
    <header className={css.head}>
      <h2>
        <Link to="/chat/$sessionId" params={{ sessionId }} title={t.openSession(title)}>
          {title}
        </Link>
      </h2>
      <span className={css.about}>{about.join(" · ")}</span>
    </header>
  );
}
