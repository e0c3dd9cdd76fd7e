// Tokens and browser logins of a user: issued, shown once, revoked.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { everything } from "../../../api/pages";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import {
  Badge,
  Button,
  ConfirmDialog,
  Empty,
  ErrorNote,
  Field,
  Page,
  Select,
  Table,
  Time,
  Waiting,
  type Column,
} from "../../../ui";
import { usersQuery } from "../../../api/names";
import css from "../shared/shared.module.css";
import { IssueDialog } from "./Issue";
import { words } from "./words";

type Token = Schemas["Token"];

export default function TokensPage() {
  const t = useWords(words);
  const me = useMe();
  const navigate = useNavigate();
  const isAdmin = me.user.role !== "member";
  const users = useQuery({ ...usersQuery, enabled: isAdmin }).data ?? [];
  const userId = useLocation().hash || me.user.id;
  const [isIssuing, setIssuing] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const tokens = useQuery({
    queryKey: keys.tokens(userId),
    queryFn: () =>
      everything((cursor) =>
        unwrap(
          api.GET("/api/v1/users/{user_id}/tokens", {
            params: { path: { user_id: userId }, query: { limit: 200, cursor } },
          }),
        ),
      ),
  });
  return (
    <Page
      title={t.title}
      intro={t.intro}
      actions={
        <Button look="primary" onClick={() => setIssuing(true)}>
          <Plus size={16} aria-hidden /> {t.issue}
        </Button>
      }
    >
      {users.length > 1 && (
        <div className={css.filters}>
          <Field label={t.of}>
            <Select
              choices={users.map((user) => ({ value: user.id, label: user.name }))}
              value={userId}
              onChange={(event) => void navigate({ to: "/tokens", hash: event.target.value, replace: true })}
            />
          </Field>
        </div>
      )}
      {tokens.error !== null ? (
        <ErrorNote error={tokens.error} retry={() => void tokens.refetch()} />
      ) : tokens.data === undefined ? (
        <Waiting />
      ) : tokens.data.length === 0 ? (
        <Empty title={t.none}>{t.noneHelp}</Empty>
      ) : (
        <Tokens tokens={tokens.data} onRevoke={setRevoked} />
      )}
      {isIssuing && (
        <IssueDialog
          userId={userId}
          onClose={() => setIssuing(false)}
        />
      )}
      {revoked !== null && <Revoke token={revoked} onClose={() => setRevoked(null)} />}
    </Page>
  );
}

function Tokens({ tokens, onRevoke }: { tokens: Token[]; onRevoke: (token: Token) => void }) {
  const t = useWords(words);
  const me = useMe();
  const columns: Column<Token>[] = [
    {
      head: t.name,
      cell: (token) => (
        <span className={css.row}>
          {token.label || <span className={css.soft}>{t.unnamed}</span>}
          {token.id === me.token_id && <Badge tone="accent">{t.here}</Badge>}
        </span>
      ),
    },
    { head: t.kind, cell: (token) => t[token.kind] },
    {
      head: t.scopes,
      cell: (token) =>
        token.scopes === null ? (
          <span className={css.soft}>{t.all}</span>
        ) : (
          <span className={css.row}>
            {token.scopes.map((scope) => (
              <Badge key={scope}>{t[scope]}</Badge>
            ))}
          </span>
        ),
    },
    { head: t.created, cell: (token) => <Time at={token.created_at} /> },
    { head: t.used, cell: (token) => <Time at={token.last_used_at} /> },
    { head: t.ends, cell: (token) => <Ends at={token.expires_at} /> },
    {
      head: "",
      end: true,
      cell: (token) => (
        <Button small aria-label={`${t.revoke}: ${token.label || t.unnamed}`} onClick={() => onRevoke(token)}>
          {t.revoke}
        </Button>
      ),
    },
  ];
  return <Table stacks label={t.table} columns={columns} rows={tokens} rowKey={(token) => token.id} />;
}

function Ends({ at }: { at: number | null }) {
  const t = useWords(words);
  if (at === null) return t.never;
  if (at <= Date.now()) return <Badge>{t.ended}</Badge>;
  return <Time at={at} />;
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }) {
  const t = useWords(words);
  const me = useMe();
  const client = useQueryClient();
  const isSelf = token.id === me.token_id;
  const revoke = async () => {
    await unwrap(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: token.id } } }));
    if (isSelf) location.assign("/");
    else await client.invalidateQueries({ queryKey: keys.tokens(token.user_id) });
  };
  return (
    <ConfirmDialog
      title={t.revokeTitle(token.label || t[token.kind])}
      confirm={t.revoke}
      danger
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>{t.revokeHelp}</p>
      {isSelf && <p className={css.warning}>{t.revokeSelf}</p>}
    </ConfirmDialog>
  );
}
