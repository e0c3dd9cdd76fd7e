import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { Button, ErrorNote, Section, toast, Unread } from "../../../ui";
import { BoundFields, useBounds, type Bounds } from "../../retention/bounds";
import own from "./org.module.css";
import css from "../shared/shared.module.css";
import { words } from "./words";

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
  const bounds = useBounds(kept);
  const save = useMutation({
    mutationFn: () => unwrap(api.PUT("/api/v1/orgs/{org_id}/retention", { ...at(orgId), body: bounds.wanted })),
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
      <BoundFields of={bounds} disabled={isMember} />
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
