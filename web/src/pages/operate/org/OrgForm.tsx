import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { Button, ErrorNote, Field, Input, Select, toast } from "../../../ui";
import { runtimeChoices, runtimeOf } from "../shared/orgs";
import own from "./org.module.css";
import css from "../shared/shared.module.css";
import { words } from "./words";

type Org = Schemas["Org"];

/** Changes an organisation, or makes one. */
export function useOrgForm(org: Org | undefined, onSaved: (org: Org) => void) {
  const client = useQueryClient();
  const [name, setName] = useState(org?.name ?? "");
  const [runtime, setRuntime] = useState<string>(org?.default_runtime_type ?? "");
  const save = useMutation({
    mutationFn: () => {
      const said = { name: name.trim(), default_runtime_type: runtimeOf(runtime) };
      if (org === undefined) return unwrap(api.POST("/api/v1/orgs", { body: said }));
      return unwrap(api.PATCH("/api/v1/orgs/{org_id}", { params: { path: { org_id: org.id } }, body: said }));
    },
    onSuccess: async (saved) => {
      await client.invalidateQueries({ queryKey: keys.orgs() });
      await client.invalidateQueries({ queryKey: keys.me() });
      onSaved(saved);
    },
  });
  return { name, setName, runtime, setRuntime, save, isReady: name.trim() !== "" && !save.isPending };
}

export function OrgFields({ form, isFixed }: { form: ReturnType<typeof useOrgForm>; isFixed?: boolean }) {
  const t = useWords(words);
  return (
    <>
      <Field label={t.name}>
        <Input
          required
          disabled={isFixed}
          maxLength={200}
          value={form.name}
          onChange={(event) => form.setName(event.target.value)}
        />
      </Field>
      <Field label={t.runtime} hint={t.runtimeHint}>
        <Select
          disabled={isFixed}
          choices={runtimeChoices(t.runtimeDefault)}
          value={form.runtime}
          onChange={(event) => form.setRuntime(event.target.value)}
        />
      </Field>
      {form.save.error !== null && <ErrorNote error={form.save.error} />}
    </>
  );
}

export function OrgForm({ org }: { org: Org }) {
  const t = useWords(words);
  const isMember = useMe().user.role === "member";
  const form = useOrgForm(org, () => toast(t.saved));
  return (
    <form
      className={own.form}
      onSubmit={(event) => {
        event.preventDefault();
        form.save.mutate();
      }}
    >
      <OrgFields form={form} isFixed={isMember} />
      {isMember ? (
        <p className={css.soft}>{t.readOnly}</p>
      ) : (
        <div>
          <Button type="submit" look="primary" disabled={!form.isReady}>
            {t.save}
          </Button>
        </div>
      )}
    </form>
  );
}
