import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { Button, ErrorNote, Field, Input, Section, toast, Unread } from "../../../ui";
import own from "./org.module.css";
import css from "../shared/shared.module.css";
import { words } from "./words";

type Bounds = Schemas["Retention"];

const MB = 1_000_000;

/** How long and how much of its sessions an organisation keeps. */
export function Retention({ orgId }: { orgId: string }) {
  const t = useWords(words);
  const kept = useQuery({
    queryKey: keys.retention(orgId),
    queryFn: () => unwrap(api.GET("/api/v1/orgs/{org_id}/retention", at(orgId))),
  });
  return (
    <Section title={t.retention}>
      <p className={css.soft}>{t.retentionHelp}</p>
      {kept.data === undefined ? <Unread of={kept} /> : <Form orgId={orgId} kept={kept.data} />}
    </Section>
  );
}

function Form({ orgId, kept }: { orgId: string; kept: Bounds }) {
  const t = useWords(words);
  const client = useQueryClient();
  const isMember = useMe().user.role === "member";
  const [days, setDays] = useState(`${kept.days ?? ""}`);
  const [size, setSize] = useState(kept.size_bytes == null ? "" : `${kept.size_bytes / MB}`);
  const save = useMutation({
    mutationFn: () => {
      const body = { days: days === "" ? null : Number(days), size_bytes: size === "" ? null : Math.round(Number(size) * MB) };
      return unwrap(api.PUT("/api/v1/orgs/{org_id}/retention", { ...at(orgId), body }));
    },
    onSuccess: (saved) => {
      client.setQueryData(keys.retention(orgId), saved);
      toast(t.saved);
    },
  });
  return (
    <form
      className={own.form}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Field label={t.keepDays} hint={t.keepHint}>
        <Input type="number" min={1} max={36500} disabled={isMember} value={days} onChange={(event) => setDays(event.target.value)} />
      </Field>
      <Field label={t.keepSize} hint={t.keepHint}>
        <Input type="number" min={0.1} step="any" disabled={isMember} value={size} onChange={(event) => setSize(event.target.value)} />
      </Field>
      {save.error !== null && <ErrorNote error={save.error} />}
      {!isMember && (
        <div>
          <Button type="submit" disabled={save.isPending}>
            {t.save}
          </Button>
        </div>
      )}
    </form>
  );
}

function at(orgId: string) {
  return { params: { path: { org_id: orgId } } };
}
