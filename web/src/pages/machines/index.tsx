// Every machine: whether it is there, what it runs, how it is kept, how busy it is.
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { useWords } from "../../i18n";
import { useLanguage } from "../../i18n/language";
import { AddButton, Empty, ErrorNote, Page, Time, Waiting } from "../../ui";
import { AddMachine } from "./AddMachine";
import { useFenceWords, usePhrase } from "../../ui/said";
import { MachineMenu } from "./actions";
import css from "./machines.module.css";
import { shownQuery } from "./queries";
import { Owner } from "./Owner";
import { kindOf, loadOf, runtimesOf, StateBadges, type Machine } from "./shown";
import { words } from "./words";

export default function MachinesPage() {
  const t = useWords(words);
  const asked = useLocation({ select: (location) => location.hash === "add" });
  const [isAdding, setAdding] = useState(asked);
  const { data, error, refetch } = useQuery(shownQuery);
  const add = <AddButton onClick={() => setAdding(true)}>{t.add}</AddButton>;
  return (
    <Page title={t.title} intro={t.intro} actions={add}>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data?.length === 0 && <Empty title={t.none}>{t.noneHelp}</Empty>}
      {data !== undefined && data.length > 0 && (
        <ul className={css.list}>
          {data.map((machine) => (
            <Row key={machine.id} machine={machine} />
          ))}
        </ul>
      )}
      {isAdding && <AddMachine onClose={() => setAdding(false)} />}
    </Page>
  );
}

function Row({ machine }: { machine: Machine }) {
  const t = useWords(words);
  const fenceWords = useFenceWords();
  const phrase = usePhrase();
  const facts = [runtimesOf(machine).join(", "), loadOf(machine, t, useLanguage()).join(" · ")].filter(Boolean);
  return (
    <li className={css.row}>
      <div className={css.head}>
        <Link to="/machines/$machineId" params={{ machineId: machine.id }} className={css.name}>
          {machine.name}
        </Link>
        <StateBadges machine={machine} />
        <span className={css.soft}>{kindOf(machine, t)}</span>
        <Owner machine={machine} />
      </div>
      <div className={css.soft}>
        {t.sessionCount(machine.sessions.length)}
        {!machine.online && machine.last_seen_at !== null && (
          <>
            {" · "}
            {t.lastSeen} <Time at={machine.last_seen_at} />
          </>
        )}
      </div>
      <div className={css.facts}>
        {machine.detail !== null && <p className={css.warn}>{phrase(machine.detail)}</p>}
        {facts.map((fact) => (
          <p key={fact}>{fact}</p>
        ))}
        {machine.fence !== null && (
          <p className={machine.fence.in_force ? css.soft : css.warn} title={fenceWords(machine.fence.words)}>
            {machine.fence.in_force ? t.fenced : t.fenceOff}
          </p>
        )}
      </div>
      <div className={css.menu}>
        <MachineMenu machine={machine} />
      </div>
    </li>
  );
}
