import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import {
  Badge,
  Button,
  ConfirmDialog,
  Dialog,
  Empty,
  Field,
  Input,
  Menu,
  Section,
  Table,
  Time,
} from "../../../ui";
import { orgsQuery } from "../shared/orgs";
import css from "../shared/shared.module.css";
import { OrgFields, useOrgForm } from "./OrgForm";
import { words } from "./words";

type Org = Schemas["Org"];
type Doing = { what: "edit" | "remove"; org: Org } | { what: "add" } | null;

/** All of them, for admins of the server. */
export function Organisations() {
  const t = useWords(words);
  const me = useMe();
  const orgs = useQuery(orgsQuery).data ?? [];
  const [doing, setDoing] = useState<Doing>(null);
  const onClose = () => setDoing(null);
  return (
    <Section
      title={t.others}
      actions={<Button onClick={() => setDoing({ what: "add" })}>{t.add}</Button>}
    >
      {orgs.length === 1 ? (
        <Empty title={t.alone}>{t.aloneHelp}</Empty>
      ) : (
        <Table
          label={t.table}
          rows={orgs}
          rowKey={(org) => org.id}
          columns={[
            {
              head: t.name,
              cell: (org) => (
                <span className={css.row}>
                  {org.name} {org.id === me.org.id && <Badge tone="accent">{t.yours}</Badge>}
                </span>
              ),
            },
            { head: t.since, cell: (org) => <Time at={org.created_at} /> },
            {
              head: "",
              end: true,
              cell: (org) => (
                <Menu
                  label={t.actions(org.name)}
                  items={[
                    { label: t.edit, onSelect: () => setDoing({ what: "edit", org }) },
                    {
                      label: t.remove,
                      danger: true,
                      disabled: org.id === me.org.id,
                      onSelect: () => setDoing({ what: "remove", org }),
                    },
                  ]}
                />
              ),
            },
          ]}
        />
      )}
      {doing?.what === "add" && <OrgDialog onClose={onClose} />}
      {doing?.what === "edit" && <OrgDialog org={doing.org} onClose={onClose} />}
      {doing?.what === "remove" && <RemoveDialog org={doing.org} onClose={onClose} />}
    </Section>
  );
}

function OrgDialog({ org, onClose }: { org?: Org; onClose: () => void }) {
  const t = useWords(words);
  const form = useOrgForm(org, onClose);
  return (
    <Dialog
      title={org === undefined ? t.addTitle : t.editTitle(org.name)}
      onClose={onClose}
      onSubmit={() => form.save.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={!form.isReady}>
          {org === undefined ? t.add : t.save}
        </Button>
      }
    >
      <OrgFields form={form} />
    </Dialog>
  );
}

/** So much goes with it that its name has to be typed. */
function RemoveDialog({ org, onClose }: { org: Org; onClose: () => void }) {
  const t = useWords(words);
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const remove = async () => {
    if (typed.trim() !== org.name) throw new Error(t.typeName);
    await unwrap(api.DELETE("/api/v1/orgs/{org_id}", { params: { path: { org_id: org.id } } }));
    await client.invalidateQueries({ queryKey: keys.orgs() });
    await client.invalidateQueries({ queryKey: keys.users() });
  };
  return (
    <ConfirmDialog title={t.removeTitle(org.name)} confirm={t.remove} danger onConfirm={remove} onClose={onClose}>
      <p>{t.removeHelp}</p>
      <Field label={t.typeName}>
        <Input value={typed} placeholder={org.name} onChange={(event) => setTyped(event.target.value)} />
      </Field>
    </ConfirmDialog>
  );
}
