// One chat: what was said, where one writes, what it did.
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { api, ApiError, unwrap } from "../../api/client";
import { machinesQuery } from "../../api/names";
import { sessionQuery } from "../../api/session";
import { forget, remember, remembered } from "../../app/memory";
import { setPageTitle } from "../../app/title";
import { QuestionCard } from "../../approvals";
import { useWords } from "../../i18n";
import { useLine } from "../../live";
import { attachmentAddress } from "../../markdown/links.ts";
import type { BlockRow, QuestionRow, UserRow, View } from "../../session/model.ts";
import { useSession } from "../../session/useSession.ts";
import { Empty, later, toast, Unread } from "../../ui";
import { Attachments, type SentFile } from "./composer/attachments";
import { Composer } from "./composer/Composer";
import { freshId } from "./composer/ids";
import { send, type Message } from "./composer/outbox";
import { words as composing } from "./composer/words";
import css from "./chat.module.css";
import { Head } from "./head/Head";
import { markSeen } from "./list/seen";
import type { Session } from "./list/sessions";
import { useFork } from "./menu/change";
import { Transcript } from "./transcript/index.ts";
import { words } from "./words";

const SIDE = "chat.side.open";
const Side = later(() => import("./side/Side").then((loaded) => loaded.Side));

export function Chat({ sessionId }: { sessionId: string }) {
  const t = useWords(words);
  const found = useQuery(sessionQuery(sessionId));
  const { data, error } = found;
  if (data !== undefined) return <Open key={sessionId} session={data} />;
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Empty title={t.gone} action={<Link to="/chat">{t.toList}</Link>}>
        {t.goneHelp}
      </Empty>
    );
  }
  return <Unread of={found} />;
}

function Open({ session }: { session: Session }) {
  const t = useWords(words);
  const { view } = useSession(session.id);
  const [isSide, setSide] = useState(() => remembered(SIDE) !== null && matchMedia("(min-width: 1101px)").matches);
  useEffect(() => setPageTitle(session.title ?? t.untitled), [session.title, t]);
  useSeen(session);
  const toggle = () => {
    if (isSide) forget(SIDE);
    else remember(SIDE, "open");
    setSide(!isSide);
  };
  return (
    <div className={css.main} data-side={isSide || undefined}>
      <div className={css.chat}>
        <Head session={session} status={view.status} isPanelOpen={isSide} onPanel={toggle} />
        <Talk session={session} view={view} />
      </div>
      {isSide && <Side session={session} onClose={toggle} />}
    </div>
  );
}

/** The end of a turn that is on the screen is seen. */
function useSeen(session: Session): void {
  const endedAt = session.last_turn?.ended_at;
  useEffect(() => {
    if (endedAt === undefined) return;
    const look = () => {
      if (document.visibilityState === "visible") markSeen(session.id, endedAt);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [session.id, endedAt]);
}

type Editing = { turnId: string; text: string; files: Attachments; copyId: string };

/** What was said and where one writes; also beside an agent that is tried. */
export function Talk({ session, view }: { session: Session; view: View }) {
  const t = useWords(words);
  const sessionId = session.id;
  const fork = useFork(sessionId);
  const { at: wanted } = useSearch({ strict: false }) as { at?: unknown };
  const at = typeof wanted === "number" ? wanted : null;
  const [editing, setEditing] = useState<Editing | null>(null);
  const isClosed = session.status === "closed" || view.status.isClosed;
  const isBuiltIn = session.runtime_type === "semigraph";
  const { data: machines } = useQuery(machinesQuery);
  const isOnline = machines?.find((one) => one.id === session.machine_id)?.online;
  const commands = useCommands(view, isBuiltIn);
  const isOffline = useLine() === "offline";

  const onEdit = useCallback((row: UserRow) => {
    if (row.turnId === null) return;
    const files = new Attachments();
    files.carry(filesOf(sessionId, row));
    setEditing({ turnId: row.turnId, text: row.content, files, copyId: freshId() });
  }, [sessionId]);
  const onFork = useCallback(
    (row: UserRow | BlockRow) => {
      if (row.turnId === null) return;
      fork({ from: row.turnId }, freshId())
        .then((copy) => copy.open())
        .catch((error: Error) => toast(error));
    },
    [fork],
  );
  const question = useCallback(
    (row: QuestionRow) => (
      <QuestionCard
        asked={{
          sessionId,
          requestId: row.requestId,
          event: row.event,
          askedAt: row.ts,
          resolution: row.resolution,
        }}
      />
    ),
    [sessionId],
  );
  const take = async (message: Message): Promise<boolean> => {
    if (editing !== null) {
      const copy = await fork({ before: editing.turnId }, editing.copyId);
      void send(copy.id, message);
      setEditing(null);
      await copy.open();
      return true;
    }
    if (!isBuiltIn || message.text.trim() !== "/compact") return false;
    const params = { path: { session_id: sessionId } };
    await unwrap(api.POST("/api/v1/sessions/{session_id}/compact", { params }));
    toast(t.compacting);
    return true;
  };
  const stop = () => {
    const params = { path: { session_id: sessionId } };
    unwrap(api.POST("/api/v1/sessions/{session_id}/cancel", { params })).catch((error: Error) => toast(error));
  };
  return (
    <>
      <Transcript
        sessionId={sessionId}
        at={at}
        isOnline={isOnline}
        onEdit={onEdit}
        onFork={onFork}
        question={question}
      />
      <Composer
        sessionId={sessionId}
        isRunning={view.running.length > 0 && !isOffline}
        canSteer={isBuiltIn}
        questions={view.questions.length}
        isClosed={isClosed && editing === null}
        commands={commands}
        queued={useQueued(view)}
        editing={
          editing && {
            key: editing.copyId,
            text: editing.text,
            files: editing.files,
            onCancel: () => setEditing(null),
          }
        }
        onSend={take}
        onStop={stop}
      />
    </>
  );
}

function filesOf(sessionId: string, { messageId, attachments }: UserRow): SentFile[] {
  if (messageId === null) return [];
  return attachments.map(({ name, mime }, place) => ({
    name: name || mime,
    mime,
    address: attachmentAddress(sessionId, messageId, place),
  }));
}

/** Of the turns that are open, all but the first wait. */
function useQueued(view: View): string[] {
  return useMemo(() => {
    const open = view.turns.filter((turn) => turn.state === "running" && turn.id !== null);
    return open.slice(1).flatMap((turn) => {
      const said = turn.rows.find((row) => row.kind === "user");
      return said === undefined ? [] : [said.content];
    });
  }, [view.turns]);
}

function useCommands(view: View, isBuiltIn: boolean) {
  const t = useWords(composing);
  const { commands } = view.status;
  return useMemo(() => {
    const own = isBuiltIn ? [{ name: "compact", description: t.compactHelp }] : [];
    return [...own, ...commands.filter((command) => !isBuiltIn || command.name !== "compact")];
  }, [commands, isBuiltIn, t]);
}
