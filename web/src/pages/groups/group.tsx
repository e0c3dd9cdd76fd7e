// One group: its conversations, who is in it, who is still speaking.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Columns2, MessageSquarePlus, Rows3 } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { api, ApiError, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { remember, remembered } from "../../app/memory";
import { QuestionCard } from "../../approvals";
import { setPageTitle } from "../../app/title";
import { useWords } from "../../i18n";
import { useLine } from "../../live";
import { useLanguage } from "../../i18n/language";
import { useSession } from "../../session/useSession";
import {
  Badge,
  Button,
  buttonClass,
  Empty,
  ErrorNote,
  IconButton,
  Menu,
  Select,
  Spinner,
  toast,
  Unread,
  Waiting,
} from "../../ui";
import { newSession } from "../newSession";
import { Composer } from "../chat/composer/Composer";
import { send, type Message } from "../chat/composer/outbox";
import { Transcript } from "../chat/transcript";
import type { Actions } from "../chat/transcript/actions";
import { speakingIn } from "./byPerson";
import { Columns } from "./Columns";
import css from "./conversation.module.css";
import { groupQuery, type Group } from "./data";
import { GroupDialog } from "./GroupDialog";
import { words } from "./words";

type Session = Schemas["Session"];
type Shape = "thread" | "columns";

const SHAPE = "groups.view";
const PROMPT_CHARS = 80;

export default function GroupPage() {
  const t = useWords(words);
  const { groupId = "" } = useParams({ strict: false });
  const group = useQuery(groupQuery(groupId));
  if (group.data !== undefined) return <Conversations key={groupId} group={group.data} />;
  if (group.error instanceof ApiError && group.error.status === 404) {
    return (
      <Empty
        title={t.notFound}
        action={
          <Link to="/groups" className={buttonClass()}>
            {t.toGroups}
          </Link>
        }
      >
        {t.notFoundHelp}
      </Empty>
    );
  }
  return <Unread of={group} />;
}

function useConversations(groupId: string) {
  return useQuery({
    queryKey: keys.sessions("group", groupId),
    queryFn: async () => {
      const query = { limit: 100, machine_id: groupId };
      return (await unwrap(api.GET("/api/v1/sessions", { params: { query } }))).items;
    },
  });
}

function Conversations({ group }: { group: Group }) {
  const t = useWords(words);
  const sessions = useConversations(group.id);
  const [picked, setPicked] = useState<string | null>(null);
  const [shape, setShape] = useState<Shape>(remembered(SHAPE) === "columns" ? "columns" : "thread");
  const [isEditing, setEditing] = useState(false);
  useEffect(() => setPageTitle(group.name), [group.name]);
  const all = sessions.data ?? [];
  const sessionId = picked ?? all.find((one) => one.status === "active")?.id ?? null;
  const session = all.find((one) => one.id === sessionId);
  const choose = (next: Shape) => {
    remember(SHAPE, next);
    setShape(next);
  };
  const begin = useBegin(group, setPicked);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>{group.name}</h1>
        {sessionId === null ? <Members group={group} speaking={[]} /> : <LiveMembers group={group} sessionId={sessionId} />}
        <div className={css.tools}>
          {all.length > 0 && <Picker sessions={all} value={sessionId} onPick={setPicked} />}
          <IconButton label={t.newConversation} onClick={() => begin.mutate()} disabled={begin.isPending}>
            <MessageSquarePlus size={16} />
          </IconButton>
          <ShapeSwitch value={shape} onChange={choose} />
          <Menu label={t.actionsFor(group.name)} items={[{ label: t.edit, onSelect: () => setEditing(true) }]} />
        </div>
      </header>
      {begin.error !== null && <ErrorNote error={begin.error} />}
      {sessions.error !== null && <ErrorNote error={sessions.error} retry={() => void sessions.refetch()} />}
      {group.persons.length === 0 ? (
        <Empty title={t.emptyGroup} action={<Button onClick={() => setEditing(true)}>{t.edit}</Button>}>
          {t.emptyGroupHelp}
        </Empty>
      ) : sessions.isPending ? (
        <Waiting />
      ) : (
        <>
          <Shown group={group} sessionId={sessionId} shape={shape} />
          {session?.status === "closed" ? (
            <p className={css.closed}>{t.closedHelp}</p>
          ) : sessionId === null ? (
            <Writing group={group} sessionId={null} isRunning={false} onMade={setPicked} />
          ) : (
            <LiveWriting group={group} sessionId={sessionId} onMade={setPicked} />
          )}
        </>
      )}
      {isEditing && <GroupDialog group={group} onClose={() => setEditing(false)} />}
    </div>
  );
}

function useBegin(group: Group, onMade: (sessionId: string) => void) {
  return useMutation({
    mutationFn: () => newSession({ machine_id: group.id }),
    onSuccess: (session) => onMade(session.id),
  });
}

function Shown({ group, sessionId, shape }: { group: Group; sessionId: string | null; shape: Shape }) {
  const t = useWords(words);
  const actions = useMemo<Actions>(
    () => ({
      question: ({ requestId, event, ts, resolution }) => (
        <QuestionCard asked={{ sessionId: sessionId ?? "", requestId, event, askedAt: ts, resolution }} />
      ),
    }),
    [sessionId],
  );
  const empty = <Empty title={t.noConversation}>{t.noConversationHelp}</Empty>;
  if (sessionId === null) return <div className={css.blank}>{empty}</div>;
  if (shape === "columns") return <Columns sessionId={sessionId} persons={group.persons} actions={actions} />;
  return <Transcript sessionId={sessionId} empty={empty} {...actions} />;
}

function LiveMembers({ group, sessionId }: { group: Group; sessionId: string }) {
  const { view } = useSession(sessionId);
  return <Members group={group} speaking={speakingIn(view.turns)} />;
}

function Members({ group, speaking }: { group: Group; speaking: readonly string[] }) {
  const t = useWords(words);
  return (
    <ul className={css.members} aria-label={t.members}>
      {group.persons.map((person) => {
        const isSpeaking = speaking.includes(person.name);
        return (
          <li key={person.id}>
            <Badge tone={isSpeaking ? "accent" : "neutral"}>
              {person.name} {isSpeaking && <Spinner label={t.speaking} />}
            </Badge>
          </li>
        );
      })}
    </ul>
  );
}

function Picker(props: { sessions: Session[]; value: string | null; onPick: (id: string) => void }) {
  const t = useWords(words);
  const language = useLanguage();
  const label = (session: Session) => {
    const when = new Date(session.created_at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
    const name = session.title ?? t.untitled(when);
    return session.status === "closed" ? `${name} (${t.closed})` : name;
  };
  return (
    <Select
      aria-label={t.conversation}
      className={css.picker}
      value={props.value ?? ""}
      choices={props.sessions.map((session) => ({ value: session.id, label: label(session) }))}
      onChange={(event) => props.onPick(event.target.value)}
    />
  );
}

function ShapeSwitch({ value, onChange }: { value: Shape; onChange: (shape: Shape) => void }) {
  const t = useWords(words);
  return (
    <span className={css.shapes} role="group" aria-label={t.view}>
      <IconButton label={t.thread} aria-pressed={value === "thread"} onClick={() => onChange("thread")}>
        <Rows3 size={16} />
      </IconButton>
      <IconButton label={t.columns} aria-pressed={value === "columns"} onClick={() => onChange("columns")}>
        <Columns2 size={16} />
      </IconButton>
    </span>
  );
}

type WritingProps = { group: Group; onMade: (sessionId: string) => void };

function LiveWriting(props: WritingProps & { sessionId: string }) {
  const { view } = useSession(props.sessionId);
  const isOffline = useLine() === "offline";
  return <Writing {...props} isRunning={view.running.length > 0 && !isOffline} />;
}

function Writing(props: WritingProps & { sessionId: string | null; isRunning: boolean }) {
  const t = useWords(words);
  const { group, sessionId, onMade } = props;
  const begin = useBegin(group, onMade);
  const mentions = useMemo(() => {
    const persons = group.persons.map(({ name, prompt }) => ({ name, description: prompt.slice(0, PROMPT_CHARS) }));
    return [...persons, { name: "all", description: t.everyone }];
  }, [group.persons, t]);
  const take = async (message: Message): Promise<boolean> => {
    if (sessionId !== null) return false;
    void send((await begin.mutateAsync()).id, message);
    return true;
  };
  const stop = useMutation({
    mutationFn: (id: string) =>
      unwrap(api.POST("/api/v1/sessions/{session_id}/cancel", { params: { path: { session_id: id } } })),
    onError: toast,
  });
  return (
    <Composer
      sessionId={sessionId ?? group.id}
      isRunning={props.isRunning}
      canSteer={false}
      mentions={mentions}
      onSend={take}
      onStop={() => sessionId !== null && stop.mutate(sessionId)}
    />
  );
}
