import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { Button, Dialog, ErrorNote, Field, Input, Select } from "../../../ui";
import { orgsQuery, runtimeChoices, runtimeOf } from "../shared/orgs";
import css from "../shared/shared.module.css";
import { words } from "./words";

type User = Schemas["User"];
type Role = User["role"];

const ROLES: Role[] = ["member", "org_admin", "admin"];

/** Adds a user, or changes one. */
export function UserForm(props: { user?: User; onClose: () => void; onAdded?: (user: User) => void }) {
  const t = useWords(words);
  const me = useMe();
  const client = useQueryClient();
  const { user } = props;
  const isServerAdmin = me.user.role === "admin";
  const orgs = useQuery({ ...orgsQuery, enabled: isServerAdmin }).data ?? [];
  const [name, setName] = useState(user?.name ?? "");
  const [role, setRole] = useState<Role>(user?.role ?? "member");
  const [orgId, setOrgId] = useState(user?.org_id ?? me.org.id);
  const [runtime, setRuntime] = useState<string>(user?.default_runtime_type ?? "");
  const save = useMutation({
    mutationFn: () => {
      const said = { name: name.trim(), role, default_runtime_type: runtimeOf(runtime) };
      if (user === undefined) return unwrap(api.POST("/api/v1/users", { body: { ...said, org_id: orgId } }));
      return unwrap(
        api.PATCH("/api/v1/users/{user_id}", { params: { path: { user_id: user.id } }, body: said }),
      );
    },
    onSuccess: async (saved) => {
      await client.invalidateQueries({ queryKey: keys.users() });
      if (saved.id === me.user.id) await client.invalidateQueries({ queryKey: keys.me() });
      if (props.onAdded !== undefined) props.onAdded(saved);
      else props.onClose();
    },
  });
  const ranks = ROLES.slice(0, ROLES.indexOf(me.user.role) + 1);
  const isSelf = user?.id === me.user.id;
  return (
    <Dialog
      title={user === undefined ? t.addTitle : t.editTitle(user.name)}
      onClose={props.onClose}
      onSubmit={() => save.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={save.isPending || name.trim() === ""}>
          {user === undefined ? t.add : t.save}
        </Button>
      }
    >
      {user === undefined && <p className={css.soft}>{t.addHint}</p>}
      <Field label={t.name}>
        <Input required autoFocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label={t.role} hint={isSelf ? t.ownRole : t[`${role}Help`]}>
        <Select
          disabled={isSelf}
          choices={ranks.map((one) => ({ value: one, label: t[one] }))}
          value={role}
          onChange={(event) => setRole(event.target.value as Role)}
        />
      </Field>
      {isServerAdmin && user === undefined && orgs.length > 1 && (
        <Field label={t.org}>
          <Select
            choices={orgs.map((org) => ({ value: org.id, label: org.name }))}
            value={orgId}
            onChange={(event) => setOrgId(event.target.value)}
          />
        </Field>
      )}
      <Field label={t.runtime}>
        <Select
          choices={runtimeChoices(t.runtimeDefault)}
          value={runtime}
          onChange={(event) => setRuntime(event.target.value)}
        />
      </Field>
      {save.error !== null && <ErrorNote error={save.error} />}
    </Dialog>
  );
}
