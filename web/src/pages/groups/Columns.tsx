// The conversation side by side: a column for each person, with what it was asked and said.
import { useMemo } from "react";
import { useWords } from "../../i18n";
import { FilesOf } from "../../markdown/Markdown";
import type { Turn } from "../../session/model";
import { ErrorNote, Spinner, Waiting } from "../../ui";
import { useSession } from "../../session/useSession";
import { RowList } from "../chat/transcript";
import { ActionsOf, type Actions } from "../chat/transcript/actions";
import { columnOf, everybodyIn, speakingIn } from "./byPerson";
import css from "./conversation.module.css";
import type { Person } from "./data";
import { words } from "./words";

export function Columns(props: { sessionId: string; persons: readonly Person[]; actions: Actions }) {
  const { view, loadOlder, retry } = useSession(props.sessionId);
  const { turns } = view;
  const everybody = useMemo(() => everybodyIn(turns, props.persons), [turns, props.persons]);
  const speaking = speakingIn(turns);
  if (view.phase === "loading") return <Waiting />;
  if (view.phase === "failed") return <ErrorNote error={view.error} retry={() => void retry()} />;
  return (
    <ActionsOf value={props.actions}>
      <FilesOf value={props.sessionId}>
        <div className={css.columns}>
          {everybody.map((person) => (
            <Column
              key={person.id}
              person={person}
              turns={turns}
              isSpeaking={speaking.includes(person.name)}
              onBeginning={view.older === "idle" ? loadOlder : null}
            />
          ))}
        </div>
      </FilesOf>
    </ActionsOf>
  );
}

function Column(props: {
  person: { id: string; name: string };
  turns: readonly Turn[];
  isSpeaking: boolean;
  onBeginning: (() => void) | null;
}) {
  const t = useWords(words);
  const { person, turns, isSpeaking } = props;
  const rows = useMemo(() => columnOf(turns, person.id), [turns, person.id]);
  return (
    <section className={css.column} aria-label={person.name}>
      <h2 className={css.columnHead}>
        {person.name} {isSpeaking && <Spinner label={t.speaking} />}
      </h2>
      {rows.length === 0 ? (
        <p className={css.notAsked}>{t.notAsked}</p>
      ) : (
        <RowList rows={rows} label={person.name} onBeginning={props.onBeginning} />
      )}
    </section>
  );
}
