// What a chat is, where it runs, what it is doing and what it has cost.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowLeft, PanelRight } from "lucide-react";
import { machinesQuery } from "../../../api/names";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import type { Status } from "../../../session/model.ts";
import { IconButton } from "../../../ui";
import { StateBadge } from "../list/State";
import type { Session } from "../list/sessions";
import { SessionMenu } from "../menu/SessionMenu";
import { usageQuery } from "../side/usage";
import { money } from "../../../ui/numbers.ts";
import css from "./head.module.css";
import { Title } from "./Title";
import { words } from "./words";

type HeadProps = { session: Session; status: Status; isPanelOpen: boolean; onPanel: () => void };

export function Head({ session, status, isPanelOpen, onPanel }: HeadProps) {
  const t = useWords(words);
  return (
    <header className={css.head}>
      <Link to="/chat" className={css.back} aria-label={t.back} title={t.back}>
        <ArrowLeft size={18} aria-hidden />
      </Link>
      <div className={css.about}>
        <div className={css.title}>
          <Title session={session} />
          <StateBadge session={session} />
        </div>
        <FactLine session={session} status={status} />
      </div>
      <IconButton label={t.panel} aria-expanded={isPanelOpen} onClick={onPanel}>
        <PanelRight size={18} />
      </IconButton>
      <SessionMenu session={session} label={t.actions} isHead />
    </header>
  );
}

function FactLine({ session, status }: { session: Session; status: Status }) {
  const t = useWords(words);
  const language = useLanguage();
  const { data: machines } = useQuery(machinesQuery);
  const { data: usage } = useQuery(usageQuery(session));
  const machine = machines?.find((one) => one.id === session.machine_id);
  const model = modelOf(session, status);
  const mode = textIn(session.agent_config, "permission_mode");
  const folder = textIn(session.session_config, "workspace") ?? textIn(session.agent_config, "workspace");
  const spent = usage?.total.cost ?? null;
  return (
    <div className={css.facts}>
      {machine && (
        <Link to="/machines/$machineId" params={{ machineId: machine.id }} title={t.machine}>
          {machine.name}
        </Link>
      )}
      <span className={css.runtime} title={t.runtime}>{session.runtime_type}</span>
      {model && <span className={css.long} title={t.model}>{model}</span>}
      {mode && <span title={t.mode}>{t.modes(mode)}</span>}
      {folder && <span className={css.long} title={`${t.folder}: ${folder}`}>{folder}</span>}
      {spent && <span title={t.cost}>{money(spent.amount, spent.currency, language)}</span>}
      {session.forked_from && (
        <Link to="/chat/$sessionId" params={{ sessionId: session.forked_from.session_id }}>
          {t.forked}
        </Link>
      )}
    </div>
  );
}

/** What the runtime says that it uses, else what was chosen. */
function modelOf(session: Session, status: Status): string | null {
  const told = status.ready?.["model_info"];
  return textIn(told, "model") ?? textIn(session.agent_config, "model");
}

function textIn(record: unknown, name: string): string | null {
  if (typeof record !== "object" || record === null) return null;
  const value = (record as Record<string, unknown>)[name];
  return typeof value === "string" && value !== "" ? value : null;
}
