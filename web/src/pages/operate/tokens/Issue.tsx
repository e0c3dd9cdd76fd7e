import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { Button, Checkbox, CodeLine, Dialog, ErrorNote, Field, Input, Select } from "../../../ui";
import { Inline } from "../../../ui/Inline";
import css from "../shared/shared.module.css";
import { words } from "./words";

type Scope = NonNullable<Schemas["Token"]["scopes"]>[number];

const SCOPES: Scope[] = ["read", "talk", "approve", "admin"];
const LIVES_DAYS = [1, 7, 30, 90, 365];
const DAY_S = 86_400;
const MARGIN_S = 60;

export function IssueDialog({ userId, onClose }: { userId: string; onClose: () => void }) {
  const t = useWords(words);
  const client = useQueryClient();
  const [label, setLabel] = useState("");
  const [isLimited, setLimited] = useState(false);
  const [scopes, setScopes] = useState<readonly Scope[]>(["read"]);
  const [days, setDays] = useState("");
  const loginEnds = useLoginEnd();
  const issue = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/users/{user_id}/token", {
          params: { path: { user_id: userId } },
          body: {
            label: label.trim(),
            scopes: isLimited ? [...scopes] : null,
            expires_in_s: days === "" ? null : Number(days) * DAY_S,
          },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.tokens(userId) }),
  });
  if (issue.data !== undefined) return <Issued token={issue.data.token} onClose={onClose} />;
  const isEmpty = isLimited && scopes.length === 0;
  const choose = (scope: Scope, on: boolean) =>
    setScopes(SCOPES.filter((one) => (one === scope ? on : scopes.includes(one))));
  return (
    <Dialog
      title={t.issueTitle}
      onClose={onClose}
      onSubmit={() => issue.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={issue.isPending || isEmpty}>
          {t.issue}
        </Button>
      }
    >
      <Field label={t.name} hint={t.nameHint}>
        <Input autoFocus maxLength={200} value={label} onChange={(event) => setLabel(event.target.value)} />
      </Field>
      <Field label={t.rights} error={isEmpty && t.noScope}>
        <Select
          choices={[
            { value: "all", label: t.everything },
            { value: "some", label: t.some },
          ]}
          value={isLimited ? "some" : "all"}
          onChange={(event) => setLimited(event.target.value === "some")}
        />
      </Field>
      {isLimited &&
        SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            checked={scopes.includes(scope)}
            onChange={(on) => choose(scope, on)}
            label={
              <span>
                {t[scope]} <span className={css.soft}>{t[`${scope}Help`]}</span>
              </span>
            }
          />
        ))}
      <Life days={days} onChange={setDays} loginEnds={loginEnds} />
      {issue.error !== null && <ErrorNote error={issue.error} />}
    </Dialog>
  );
}

/** A token ends no later than the login that it is made in. */
function Life(props: { days: string; onChange: (days: string) => void; loginEnds: number | null }) {
  const t = useWords(words);
  const language = useLanguage();
  const { loginEnds } = props;
  const leftS = loginEnds === null ? Infinity : (loginEnds - Date.now()) / 1000 - MARGIN_S;
  const lives = LIVES_DAYS.filter((days) => days * DAY_S <= leftS);
  const hint = loginEnds !== null && <Inline text={t.lifeHint(new Date(loginEnds).toLocaleDateString(language))} />;
  return (
    <Field label={t.life} hint={hint}>
      <Select
        choices={[
          { value: "", label: loginEnds === null ? t.never : t.lifeLogin },
          ...lives.map((days) => ({ value: String(days), label: t.lifeDays(days) })),
        ]}
        value={props.days}
        onChange={(event) => props.onChange(event.target.value)}
      />
    </Field>
  );
}

/** When this browser's login ends; null where it does not. */
function useLoginEnd(): number | null {
  const me = useMe();
  const { data } = useQuery({
    queryKey: [...keys.tokens(me.user.id), "own"],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/users/{user_id}/tokens", {
          params: { path: { user_id: me.user.id }, query: { limit: 200 } },
        }),
      ),
  });
  return data?.items.find((token) => token.id === me.token_id)?.expires_at ?? null;
}

function Issued({ token, onClose }: { token: string; onClose: () => void }) {
  const t = useWords(words);
  return (
    <Dialog
      title={t.made}
      onClose={onClose}
      actions={
        <Button look="primary" onClick={onClose}>
          {t.done}
        </Button>
      }
    >
      <p className={css.warning}>{t.once}</p>
      <CodeLine label={t.made} text={token} />
    </Dialog>
  );
}
