// The people: added, changed, let in, removed.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import {
  Badge,
  Button,
  ConfirmDialog,
  Empty,
  ErrorNote,
  Menu,
  Page,
  Table,
  Time,
  Waiting,
  type Column,
} from "../../../ui";
import { usersQuery } from "../../../api/names";
import { orgsQuery } from "../shared/orgs";
import css from "../shared/shared.module.css";
import { LinkDialog } from "./LinkDialog";
import { UserForm } from "./UserForm";
import { words } from "./words";

type User = Schemas["User"];
type Doing = { what: "edit" | "link" | "remove"; user: User } | { what: "add" } | null;

export default function UsersPage() {
  const t = useWords(words);
  const isAdmin = useMe().user.role !== "member";
  const users = useQuery(usersQuery);
  const [doing, setDoing] = useState<Doing>(null);
  const columns = useColumns(setDoing);
  return (
    <Page
      title={t.title}
      intro={t.intro}
      actions={
        isAdmin && (
          <Button look="primary" onClick={() => setDoing({ what: "add" })}>
            <Plus size={16} aria-hidden /> {t.add}
          </Button>
        )
      }
    >
      {users.error !== null ? (
        <ErrorNote error={users.error} retry={() => void users.refetch()} />
      ) : users.data === undefined ? (
        <Waiting />
      ) : (
        <div>
          <Table label={t.table} columns={columns} rows={users.data} rowKey={(user) => user.id} />
          {users.data.length === 1 && isAdmin && <Empty title={t.alone}>{t.aloneHelp}</Empty>}
        </div>
      )}
      <Done doing={doing} onClose={() => setDoing(null)} onLink={(user) => setDoing({ what: "link", user })} />
    </Page>
  );
}

function useColumns(setDoing: (doing: Doing) => void): Column<User>[] {
  const t = useWords(words);
  const me = useMe();
  const navigate = useNavigate();
  const isServerAdmin = me.user.role === "admin";
  const orgs = useQuery({ ...orgsQuery, enabled: isServerAdmin }).data ?? [];
  const nameOfOrg = new Map(orgs.map((org) => [org.id, org.name]));
  const columns: (Column<User> | false)[] = [
    {
      head: t.name,
      cell: (user) => (
        <span className={css.row}>
          {user.name} {user.id === me.user.id && <Badge tone="accent">{t.you}</Badge>}
        </span>
      ),
    },
    { head: t.role, cell: (user) => t[user.role] },
    isServerAdmin && { head: t.org, cell: (user) => nameOfOrg.get(user.org_id) ?? "" },
    { head: t.since, cell: (user) => <Time at={user.created_at} /> },
    {
      head: "",
      end: true,
      cell: (user) => (
        <Menu
          label={t.actions(user.name)}
          items={[
            { label: t.link, onSelect: () => setDoing({ what: "link", user }) },
            { label: t.edit, onSelect: () => setDoing({ what: "edit", user }) },
            { label: t.tokens, onSelect: () => void navigate({ to: "/tokens", hash: user.id }) },
            "line",
            {
              label: t.remove,
              danger: true,
              disabled: user.id === me.user.id || me.user.role === "member",
              onSelect: () => setDoing({ what: "remove", user }),
            },
          ]}
        />
      ),
    },
  ];
  return columns.filter((column) => column !== false);
}

function Done(props: { doing: Doing; onClose: () => void; onLink: (user: User) => void }) {
  const t = useWords(words);
  const client = useQueryClient();
  const { doing, onClose } = props;
  if (doing === null) return null;
  if (doing.what === "add") return <UserForm onClose={onClose} onAdded={props.onLink} />;
  const { user } = doing;
  if (doing.what === "edit") return <UserForm user={user} onClose={onClose} />;
  if (doing.what === "link") return <LinkDialog user={user} onClose={onClose} />;
  const remove = async () => {
    await unwrap(api.DELETE("/api/v1/users/{user_id}", { params: { path: { user_id: user.id } } }));
    await client.invalidateQueries({ queryKey: keys.users() });
  };
  return (
    <ConfirmDialog title={t.removeTitle(user.name)} confirm={t.remove} danger onConfirm={remove} onClose={onClose}>
      <p>{t.removeHelp}</p>
    </ConfirmDialog>
  );
}
