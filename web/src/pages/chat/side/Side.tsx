// Beside a chat: what it did to files, and what it has used.
import { X } from "lucide-react";
import { useState } from "react";
import { remember, remembered } from "../../../app/memory";
import { useWords } from "../../../i18n";
import { IconButton } from "../../../ui";
import { Tabs } from "../../../ui/Tabs";
import type { Session } from "../list/sessions";
import { Changes, hasWorktree } from "./Changes";
import { Files } from "./Files";
import css from "./side.module.css";
import { Usage } from "./Usage";
import { words } from "./words";

const TAB = "chat.side";

export function Side({ session, onClose }: { session: Session; onClose: () => void }) {
  const t = useWords(words);
  const [tab, setTab] = useState(() => remembered(TAB) ?? (hasWorktree(session) ? "changes" : "files"));
  const choose = (chosen: string) => {
    remember(TAB, chosen);
    setTab(chosen);
  };
  return (
    <aside className={css.side} aria-label={t.panel}>
      <div className={css.head}>
        <h2>{t.panel}</h2>
        <IconButton label={t.close} onClick={onClose}>
          <X size={18} />
        </IconButton>
      </div>
      <div className={css.body}>
        <Tabs
          label={t.panel}
          value={tab}
          onChange={choose}
          tabs={[
            { value: "files", label: t.files, content: tab === "files" && <Files session={session} /> },
            { value: "changes", label: t.changes, content: tab === "changes" && <Changes session={session} /> },
            { value: "usage", label: t.usage, content: tab === "usage" && <Usage session={session} /> },
          ]}
        />
      </div>
    </aside>
  );
}
