// All that was said and done in a session, as it comes.

import { useEffect, useMemo, useRef, useState } from "react";

import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { useLine } from "../../../live";
import { FilesOf } from "../../../markdown/Markdown.tsx";
import { text } from "../../../session/event.ts";
import type { EndRow, Status } from "../../../session/model.ts";
import type { StoreView } from "../../../session/store.ts";
import { useSession } from "../../../session/useSession.ts";
import { Button, Empty, ErrorNote, Spinner, Waiting } from "../../../ui";
import { useFeatureName } from "../../features";
import { ActionsOf, type Actions } from "./actions.ts";
import { duration } from "../../../ui/numbers.ts";
import { RowList } from "./RowList.tsx";
import css from "./transcript.module.css";
import { words } from "./words.ts";

export type TranscriptProps = Actions & {
  sessionId: string;
  /** Instead of the words for a session in which nothing was said. */
  empty?: React.ReactNode;
  /** An event to be led to. */
  at?: number | null;
  /** Whether its machine is there, as the server knows: the log may end before it came back, and of
   * a chat in which nothing was said yet it has nothing. */
  isOnline?: boolean | undefined;
};

export function Transcript({ sessionId, empty, at = null, isOnline, ...given }: TranscriptProps) {
  const t = useWords(words);
  const { view, loadOlder, retry } = useSession(sessionId);
  const { onEdit, onFork, question } = given;
  const actions = useMemo<Actions>(
    () => ({ ...(onEdit && { onEdit }), ...(onFork && { onFork }), ...(question && { question }) }),
    [onEdit, onFork, question],
  );
  return (
    <ActionsOf value={actions}>
      <FilesOf value={sessionId}>
        <section className={css.transcript} aria-label={t.transcript}>
          {view.phase === "loading" ? (
            <Waiting />
          ) : view.phase === "failed" ? (
            <ErrorNote error={view.error} retry={() => void retry()} />
          ) : view.rows.length === 0 ? (
            (empty ?? <Empty title={t.empty}>{t.emptyWhat}</Empty>)
          ) : (
            <RowList
              key={sessionId}
              rows={view.rows}
              label={t.transcript}
              top={<Older view={view} retry={() => void loadOlder()} />}
              onBeginning={view.older === "idle" ? loadOlder : null}
              at={view.older === "loading" ? null : at}
            />
          )}
          <Strip view={view} isOnline={isOnline} />
          <Announcer view={view} />
        </section>
      </FilesOf>
    </ActionsOf>
  );
}

function Older({ view, retry }: { view: StoreView; retry: () => void }) {
  const t = useWords(words);
  if (view.older === "failed") {
    return (
      <p className={css.older}>
        {t.olderFailed}{" "}
        <Button small onClick={retry}>
          {t.olderRetry}
        </Button>
      </p>
    );
  }
  return view.older === "loading" ? <p className={css.older}>{t.olderLoading}</p> : null;
}

/** One quiet line below: that it works, that it waits, or what does not work right now. */
function Strip({ view, isOnline }: { view: StoreView; isOnline: boolean | undefined }) {
  const t = useWords(words);
  const running = view.turns.find((turn) => turn.state === "running" && turn.id !== null);
  const isAway = useLine() === "offline";
  const nameOf = useFeatureName();
  const said = isOnline || view.status.isClosed ? "" : statusText(view.status, isOnline, t, nameOf);
  // A first turn starts on its machine what the session needs, and is silent meanwhile.
  const isSilent = running?.rows.every((row) => row.kind === "user");
  const { machine, note } = view.status;
  const isStarting = isSilent && machine !== "offline" && (note !== null || view.turns[0] === running);
  const working = isStarting ? t.preparing : (note ?? t.working);
  if (!running && !said) return null;
  // What became of it since is not known here: nothing counts on.
  if (running && isAway) return <div className={css.strip}>{t.lastKnownRunning}</div>;
  return (
    <div className={css.strip}>
      {running && (
        <span className={css.working}>
          {view.questions.length > 0 ? t.waiting : working}
          {view.questions.length === 0 && <Spinner label={t.working} />}
          {running.startedTs !== null && <Elapsed since={running.startedTs} />}
        </span>
      )}
      {said && <span>{said}</span>}
    </div>
  );
}

function statusText(
  status: Status,
  isOnline: boolean | undefined,
  t: (typeof words)["en"],
  nameOf: (feature: string) => string,
): string {
  if (status.machine === "degraded") {
    const named = (features: string[]) => features.map(nameOf).join(", ") || t.none;
    return t.degradedNow(named(status.works), named(status.degraded));
  }
  if (status.machine === "gone") return "";
  return status.machine === "offline" || isOnline === false ? t.offline : "";
}

function Elapsed({ since }: { since: number }) {
  const language = useLanguage();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - since) / 1000));
  return seconds < 2 ? null : <span>{duration(seconds * 1000, language)}</span>;
}

/** For those who hear the page: the end of a turn and a question, nothing in between. */
function Announcer({ view }: { view: StoreView }) {
  const t = useWords(words);
  const [said, say] = useState("");
  const known = useRef<string | null>(null);
  const end = view.rows.findLast((row): row is EndRow => row.kind === "end");
  const question = view.questions.at(-1);
  const now = `${end?.key ?? ""}/${question?.requestId ?? ""}`;
  const isReady = view.phase === "ready";
  useEffect(() => {
    if (!isReady || known.current === now) return;
    const before = known.current;
    known.current = now;
    if (before === null) return;
    if (question && !before.endsWith(`/${question.requestId}`)) {
      say(t.saidQuestion(text(question.event["message"]) || text(question.event["tool_name"])));
    } else if (end && !before.startsWith(`${end.key}/`)) {
      if (end.state === "failed") say(t.saidFailed(end.error ?? ""));
      else say(end.state === "cancelled" ? t.saidStopped : t.saidDone);
    }
  }, [isReady, now, end, question, t]);
  return (
    <div className="visually-hidden" role="status">
      {said}
    </div>
  );
}
