// The files of a skill, and one of them to read.
import { useState } from "react";
import type { Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { cx, FileText } from "../../../ui";
import css from "./skills.module.css";
import { words } from "./words";

export function Files({ skill }: { skill: Schemas["SkillDetail"] }) {
  const t = useWords(words);
  const [path, setPath] = useState(skill.files.includes("SKILL.md") ? "SKILL.md" : skill.files[0]);
  return (
    <div className={css.files}>
      <ul className={css.paths} aria-label={t.files}>
        {skill.files.map((one) => (
          <li key={one}>
            <button
              type="button"
              className={cx(css.path, one === path && css.chosen)}
              aria-current={one === path}
              onClick={() => setPath(one)}
            >
              {one}
            </button>
          </li>
        ))}
      </ul>
      {path !== undefined && (
        <FileText
          key={path}
          path={path}
          address={`/api/v1/skills/${skill.id}/files/${path.split("/").map(encodeURIComponent).join("/")}`}
          queryKey={[...keys.skills(), skill.id, "file", path]}
        />
      )}
    </div>
  );
}
