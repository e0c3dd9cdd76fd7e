// The agents that there are.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Copy, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { usePages } from "../../../api/pages";
import { useWords } from "../../../i18n";
import {
  Badge,
  buttonClass,
  ConfirmDialog,
  Empty,
  Listing,
  Menu,
  Page,
  RecordItem,
  Records,
  records,
  Time,
  toast,
} from "../../../ui";
import { draftOf, saidBy } from "./draft";
import { words } from "./words";

type Agent = Schemas["Agent"];

export default function AgentsPage() {
  const t = useWords(words);
  const client = useQueryClient();
  const navigate = useNavigate();
  const [removing, setRemoving] = useState<Agent | null>(null);
  const list = usePages(keys.agents(), (cursor) =>
    unwrap(api.GET("/api/v1/agents", { params: { query: { cursor } } })),
  );
  const changed = () => client.invalidateQueries({ queryKey: keys.agents() });
  const duplicating = useMutation({
    mutationFn: (agent: Agent) => {
      const body = { ...saidBy(draftOf(agent), agent), name: t.copyOf(agent.name) };
      return unwrap(api.POST("/api/v1/agents", { body }));
    },
    onSuccess: async (copy) => {
      await changed();
      await navigate({ to: "/agents/$agentId", params: { agentId: copy.id } });
    },
    onError: toast,
  });
  const add = (
    <Link to="/agents/$agentId" params={{ agentId: "new" }} className={buttonClass("primary")}>
      <Plus size={16} aria-hidden />
      {t.add}
    </Link>
  );
  return (
    <Page title={t.title} intro={t.intro} actions={add} narrow>
      <Listing of={list} empty={<Empty title={t.empty}>{t.emptyHelp}</Empty>}>
        {(items) => (
          <Records label={t.title}>
            {items.map((agent) => (
              <Item
                key={agent.id}
                agent={agent}
                onDuplicate={() => duplicating.mutate(agent)}
                onRemove={() => setRemoving(agent)}
              />
            ))}
          </Records>
        )}
      </Listing>
      {removing && (
        <ConfirmDialog
          title={t.removeTitle(removing.name)}
          confirm={t.remove}
          danger
          onConfirm={async () => {
            const path = { agent_id: removing.id };
            await unwrap(api.DELETE("/api/v1/agents/{agent_id}", { params: { path } }));
            await changed();
            setRemoving(null);
          }}
          onClose={() => setRemoving(null)}
        >
          <p>{t.removeHelp}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function Item(props: { agent: Agent; onDuplicate: () => void; onRemove: () => void }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const { agent } = props;
  const edit = () => void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } });
  return (
    <RecordItem
      title={
        <>
          <Link to="/agents/$agentId" params={{ agentId: agent.id }}>
            {agent.name}
          </Link>
          {agent.runtime_type && <Badge>{agent.acp?.preset ?? agent.runtime_type}</Badge>}
          {agent.permission_mode && <Badge>{agent.permission_mode}</Badge>}
        </>
      }
      facts={
        <>
          {agent.model && <span>{agent.model}</span>}
          {agent.workspace && <span className={records.mono}>{agent.workspace}</span>}
          <Time at={agent.created_at} />
        </>
      }
      actions={
        <Menu
          label={t.actions(agent.name)}
          items={[
            { label: t.edit, icon: <Pencil size={15} />, onSelect: edit },
            { label: t.duplicate, icon: <Copy size={15} />, onSelect: props.onDuplicate },
            { label: t.remove, icon: <Trash2 size={15} />, danger: true, onSelect: props.onRemove },
          ]}
        />
      }
    >
      {agent.description && <p className={records.soft}>{agent.description}</p>}
    </RecordItem>
  );
}
