// A session with the agent as it is saved, beside its form.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import type { Schemas } from "../../../api/client";
import { sessionQuery } from "../../../api/session";
import { useWords } from "../../../i18n";
import { useSession } from "../../../session/useSession";
import { Button, buttonClass, Empty, ErrorNote, Unread } from "../../../ui";
import { Talk } from "../../chat/Chat";
import { newSession } from "../../newSession";
import css from "./agents.module.css";
import { words } from "./words";

type Agent = Schemas["Agent"];

/** The session that is tried, by agent: it is still there after a new one's form was saved. */
const triedKey = (agentId: string | undefined) => ["tried", agentId] as const;

export function Try(props: {
  agent: Agent | null;
  isChanged: boolean;
  isWhole: boolean;
  onSave: () => Promise<Agent>;
}) {
  const t = useWords(words);
  const client = useQueryClient();
  const { agent, isChanged } = props;
  const { data: sessionId = null } = useQuery<string | null>({
    queryKey: triedKey(agent?.id),
    queryFn: () => null,
    enabled: false,
    gcTime: Infinity,
  });
  const starting = useMutation({
    mutationFn: async () => {
      const saved = agent === null || isChanged ? await props.onSave() : agent;
      const title = t.tryTitle(saved.name).slice(0, 200);
      const session = await newSession({ agent_id: saved.id, title });
      client.setQueryData(triedKey(saved.id), session.id);
    },
  });
  const needsSaving = agent === null || isChanged;
  const begin = needsSaving ? t.saveAndTry : sessionId === null ? t.tryIt : t.tryAgain;
  return (
    <section className={css.try} aria-label={t.tryIt}>
      <div className={css.tryHead}>
        <h2>{t.tryIt}</h2>
        {sessionId !== null && (
          <Link to="/chat/$sessionId" params={{ sessionId }} className={buttonClass("quiet", true)}>
            {t.openInChats}
          </Link>
        )}
        <Button
          small
          look={sessionId === null ? "primary" : "plain"}
          disabled={!props.isWhole || starting.isPending}
          onClick={() => starting.mutate()}
        >
          <Play size={14} aria-hidden />
          {begin}
        </Button>
      </div>
      <div className={css.tryBody}>
        {starting.error && <ErrorNote error={starting.error} />}
        {sessionId === null ? (
          <Empty title={t.tryIt}>{t.tryHelp}</Empty>
        ) : (
          <Tried key={sessionId} sessionId={sessionId} />
        )}
      </div>
      {sessionId !== null && needsSaving && <p className={css.note}>{t.changed}</p>}
    </section>
  );
}

function Tried({ sessionId }: { sessionId: string }) {
  const { view } = useSession(sessionId);
  const session = useQuery(sessionQuery(sessionId));
  if (session.data === undefined) return <Unread of={session} />;
  return <Talk session={session.data} view={view} />;
}
