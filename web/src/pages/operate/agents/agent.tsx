// One agent: its form, its rules, and a session beside it to try it.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker, useNavigate, useParams } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { Button, ConfirmDialog, ErrorNote, Page, Waiting } from "../../../ui";
import css from "./agents.module.css";
import { draftOf, EMPTY, isSame, saidBy, type Draft } from "./draft";
import { Basics, More, Permissions } from "./Fields";
import { Rules } from "./Rules";
import { Try } from "./Try";
import { words } from "./words";

type Agent = Schemas["Agent"];

export default function AgentPage() {
  const t = useWords(words);
  const { agentId = "new" } = useParams({ strict: false });
  const isNew = agentId === "new";
  const agent = useQuery({
    queryKey: [...keys.agents(), agentId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/agents/{agent_id}", { params: { path: { agent_id: agentId } } })),
    enabled: !isNew,
  });
  if (isNew) return <Form key="new" agent={null} />;
  if (agent.data === undefined && agent.error) {
    return (
      <Page title={t.title}>
        <ErrorNote error={agent.error} retry={() => void agent.refetch()} />
      </Page>
    );
  }
  if (agent.data === undefined) return <Waiting />;
  return <Form key={agentId} agent={agent.data} />;
}

function Form({ agent }: { agent: Agent | null }) {
  const t = useWords(words);
  const client = useQueryClient();
  const navigate = useNavigate();
  const before = agent === null ? EMPTY : draftOf(agent);
  const [draft, setDraft] = useState<Draft>(before);
  const isChanged = !isSame(draft, before);
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }));
  const saving = useMutation({
    mutationFn: () => save(agent, draft),
    onSuccess: async (saved) => {
      setDraft(draftOf(saved));
      client.setQueryData([...keys.agents(), saved.id], saved);
      await client.invalidateQueries({ queryKey: keys.agents() });
    },
  });
  const isSaved = useRef(false);
  const leaving = useBlocker({
    shouldBlockFn: () => isChanged && !isSaved.current,
    enableBeforeUnload: () => isChanged,
    withResolver: true,
  });
  const submit = async (): Promise<Agent> => {
    const saved = await saving.mutateAsync();
    if (agent === null) {
      isSaved.current = true;
      await navigate({ to: "/agents/$agentId", params: { agentId: saved.id }, replace: true });
    }
    return saved;
  };
  const isWhole = draft.name.trim() !== "";
  return (
    <Page
      title={agent?.name ?? t.newTitle}
      actions={
        <>
          <span className={css.state} role="status">
            {isChanged ? t.unsaved : saving.isSuccess ? t.saved : ""}
          </span>
          {isChanged && agent !== null && <Button onClick={() => setDraft(before)}>{t.discard}</Button>}
          <Button
            look="primary"
            disabled={!isWhole || !isChanged || saving.isPending}
            onClick={() => void submit().catch(() => undefined)}
          >
            {t.save}
          </Button>
        </>
      }
    >
      {saving.error && <ErrorNote error={saving.error} />}
      <div className={css.sides}>
        <div className={css.form}>
          <Basics draft={draft} set={set} />
          <Permissions draft={draft} set={set} />
          <More draft={draft} set={set} agentId={agent?.id ?? null} />
          <Rules agentId={agent?.id ?? null} />
        </div>
        <Try agent={agent} isChanged={isChanged} isWhole={isWhole} onSave={submit} />
      </div>
      {leaving.status === "blocked" && (
        <ConfirmDialog
          title={t.leaveTitle}
          confirm={t.leave}
          danger
          onConfirm={async () => leaving.proceed()}
          onClose={leaving.reset}
        >
          <p>{t.leaveHelp}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function save(agent: Agent | null, draft: Draft): Promise<Agent> {
  const said = saidBy(draft, agent);
  if (agent === null) return unwrap(api.POST("/api/v1/agents", { body: said }));
  const path = { agent_id: agent.id };
  return unwrap(api.PATCH("/api/v1/agents/{agent_id}", { params: { path }, body: said }));
}
