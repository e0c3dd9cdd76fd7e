// One skill: its versions, what each needs and changed, and its files.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import {
  Badge,
  ConfirmDialog,
  Diff,
  ErrorNote,
  Facts,
  Field,
  Menu,
  Page,
  records,
  Select,
  Time,
  Unread,
  Waiting,
} from "../../../ui";
import { Tabs } from "../../../ui/Tabs";
import { Files } from "./Files";
import { words } from "./words";

export default function SkillPage() {
  const t = useWords(words);
  const { skillId = "" } = useParams({ strict: false });
  const [version, setVersion] = useState<string>();
  const skill = useQuery({
    queryKey: [...keys.skills(), skillId, version],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/skills/{skill_id}", {
          params: { path: { skill_id: skillId }, query: { version } },
        }),
      ),
  });
  if (skill.data === undefined && skill.error) {
    return (
      <Page title={t.title}>
        <ErrorNote error={skill.error} retry={() => void skill.refetch()} />
      </Page>
    );
  }
  if (skill.data === undefined) return <Waiting />;
  return <Shown key={skill.data.id} skill={skill.data} onVersion={setVersion} />;
}

function Shown(props: {
  skill: Schemas["SkillDetail"];
  onVersion: (version: string | undefined) => void;
}) {
  const t = useWords(words);
  const { skill } = props;
  const isAdmin = useMe().user.role !== "member";
  const [removing, setRemoving] = useState<"version" | "all" | null>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const remove = async () => {
    const id = removing === "all" ? skill.skill_id : skill.id;
    await unwrap(api.DELETE("/api/v1/skills/{skill_id}", { params: { path: { skill_id: id } } }));
    const isLast = removing === "all" || skill.versions.length === 1;
    setRemoving(null);
    // Of a skill that is gone nothing is read again here; the list is when it is shown.
    await client.invalidateQueries({ queryKey: keys.skills(), refetchType: isLast ? "none" : "active" });
    if (isLast) await navigate({ to: "/skills" });
    else props.onVersion(undefined);
  };
  const versions = skill.versions.map((one, at) => ({
    value: one.version,
    label: at === 0 ? `${one.version} (${t.latest})` : one.version,
  }));
  return (
    <Page
      title={skill.name}
      intro={skill.description}
      actions={
        isAdmin && (
          <Menu
            label={t.actions}
            items={[
              { label: t.removeVersion, icon: <Trash2 size={15} />, danger: true, onSelect: () => setRemoving("version") },
              { label: t.removeAll, icon: <Trash2 size={15} />, danger: true, onSelect: () => setRemoving("all") },
            ]}
          />
        )
      }
    >
      <div className={records.columns}>
        <Field label={t.version}>
          <Select
            value={skill.version}
            choices={versions}
            onChange={(event) => props.onVersion(event.target.value)}
          />
        </Field>
        <Facts
          of={[
            [t.skillId, <code key="id">{skill.skill_id}</code>],
            [t.source, skill.source === "evolution" ? t.fromEvolution : t.fromUpload],
            [t.made, <Time key="at" at={skill.created_at} />],
          ]}
        />
        <Requirements of={skill.requires} />
      </div>
      <Tabs
        label={skill.name}
        tabs={[
          { value: "files", label: t.files, content: <Files skill={skill} /> },
          { value: "changes", label: t.changes, content: <Changes skill={skill} /> },
        ]}
      />
      {removing !== null && (
        <ConfirmDialog
          title={removing === "all" ? t.removeAllTitle(skill.name) : t.removeVersionTitle(skill.version)}
          confirm={t.remove}
          danger
          onConfirm={remove}
          onClose={() => setRemoving(null)}
        >
          <p>{t.removeHelp}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function Requirements({ of }: { of: Schemas["SkillDetail"]["requires"] }) {
  const t = useWords(words);
  const programs = of.binaries ?? [];
  const variables = of.env_vars ?? [];
  const isNothing = programs.length + variables.length === 0;
  return (
    <div>
      <strong>{t.requires}</strong>
      {isNothing ? (
        <p className={records.soft}>{t.requiresNothing}</p>
      ) : (
        <>
          {programs.length > 0 && <Names label={t.programs} of={programs} />}
          {variables.length > 0 && <Names label={t.variables} of={variables} />}
          <p className={records.soft}>{t.requiresHelp}</p>
        </>
      )}
    </div>
  );
}

function Names({ label, of }: { label: string; of: string[] }) {
  return (
    <p className={records.bar}>
      <span className={records.soft}>{label}</span>
      {of.map((name) => (
        <Badge key={name}>{name}</Badge>
      ))}
    </p>
  );
}

function Changes({ skill }: { skill: Schemas["SkillDetail"] }) {
  const t = useWords(words);
  const diff = useQuery({
    queryKey: [...keys.skills(), skill.id, "diff"],
    queryFn: () =>
      unwrap(api.GET("/api/v1/skills/{skill_id}/diff", { params: { path: { skill_id: skill.id } } })),
  });
  if (diff.data === undefined) return <Unread of={diff} />;
  const { against } = diff.data;
  if (against === null) return <p className={records.soft}>{t.firstVersion}</p>;
  return (
    <div className={records.form}>
      <p className={records.soft}>{t.against(against.version)}</p>
      <Diff text={diff.data.diff} />
    </div>
  );
}
