// Everything that waits for a person, over all sessions and machines; and what was answered.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useWords } from "../../i18n";
import { buttonClass, Page } from "../../ui";
import { Tabs } from "../../ui/Tabs";
import { History } from "./History";
import { Waiting } from "./Waiting";
import { words } from "./words";

export default function InboxPage() {
  const t = useWords(words);
  const [view, setView] = useState("waiting");
  const rules = (
    <Link to="/rules" className={buttonClass("plain", true)}>
      {t.rules}
    </Link>
  );
  return (
    <Page title={t.inbox} actions={rules}>
      <Tabs
        label={t.views}
        value={view}
        onChange={setView}
        tabs={[
          { value: "waiting", label: t.waiting, content: <Waiting /> },
          { value: "answered", label: t.answered, content: view === "answered" && <History /> },
        ]}
      />
    </Page>
  );
}
