// Skills of the organisation, and those that agents propose.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, unwrap } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { usePages } from "../../../api/pages";
import { useWords } from "../../../i18n";
import { Badge, Empty, Listing, Page, RecordItem, Records, records, Time } from "../../../ui";
import { Tabs } from "../../../ui/Tabs";
import { Proposals } from "./Proposals";
import { Upload } from "./Upload";
import { words } from "./words";

export default function SkillsPage() {
  const t = useWords(words);
  const [tab, setTab] = useState("skills");
  return (
    <Page title={t.title} intro={t.intro} narrow>
      <Tabs
        label={t.title}
        value={tab}
        onChange={setTab}
        tabs={[
          { value: "skills", label: t.tabSkills, content: <Skills /> },
          { value: "proposed", label: t.tabProposed, content: <Proposals /> },
        ]}
      />
    </Page>
  );
}

function Skills() {
  const t = useWords(words);
  const isAdmin = useMe().user.role !== "member";
  const list = usePages(keys.skills(), (cursor) =>
    unwrap(api.GET("/api/v1/skills", { params: { query: { latest: true, cursor } } })),
  );
  const empty = (
    <Empty title={t.empty}>
      {t.emptyHelp} {!isAdmin && t.adminsUpload}
    </Empty>
  );
  const shown = (
    <Listing of={list} empty={empty}>
      {(items) => (
        <Records label={t.title}>
          {items.map((skill) => (
            <RecordItem
              key={skill.id}
              title={
                <>
                  <Link to="/skills/$skillId" params={{ skillId: skill.skill_id }}>
                    {skill.name}
                  </Link>
                  <Badge>{skill.version}</Badge>
                  {skill.source === "evolution" && <Badge tone="accent">{t.fromEvolution}</Badge>}
                </>
              }
              facts={
                <>
                  <Time at={skill.created_at} />
                  <Needs of={skill.requires} />
                </>
              }
            >
              <p className={records.soft}>{skill.description}</p>
            </RecordItem>
          ))}
        </Records>
      )}
    </Listing>
  );
  return isAdmin ? <Upload>{shown}</Upload> : shown;
}

function Needs({ of }: { of: { binaries?: string[]; env_vars?: string[] } }) {
  const t = useWords(words);
  const names = [...(of.binaries ?? []), ...(of.env_vars ?? [])];
  if (names.length === 0) return null;
  return (
    <span>
      {t.needs} {names.join(", ")}
    </span>
  );
}
