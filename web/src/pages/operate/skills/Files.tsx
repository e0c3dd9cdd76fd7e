// The files of a skill, and one of them to read.
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { errorOf, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { buttonClass, Copy, cx, ErrorNote, records, Waiting } from "../../../ui";
import { count } from "../../../ui/numbers";
import css from "./skills.module.css";
import { words } from "./words";

/** More than that is downloaded, not shown. */
const CHARS_SHOWN = 200_000;

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
      {path !== undefined && <FileView key={path} skill={skill} path={path} />}
    </div>
  );
}

function FileView({ skill, path }: { skill: Schemas["SkillDetail"]; path: string }) {
  const t = useWords(words);
  const language = useLanguage();
  const address = `/api/v1/skills/${skill.id}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
  const file = useQuery({
    queryKey: [...keys.skills(), skill.id, "file", path],
    queryFn: () => read(address),
    staleTime: Infinity,
  });
  const text = file.data ?? "";
  return (
    <section className={css.file} aria-label={path}>
      <div className={css.fileHead}>
        <code>{path}</code>
        {file.data != null && <Copy text={text} what={path} />}
        <a className={buttonClass("plain", true)} href={address} download={path.split("/").at(-1)}>
          <Download size={14} aria-hidden />
          {t.download}
        </a>
      </div>
      {file.error && <ErrorNote error={file.error} retry={() => void file.refetch()} />}
      {file.data === undefined && !file.error && <Waiting />}
      {file.data === null && <p className={records.soft}>{t.notText}</p>}
      {file.data != null && (
        <pre className={css.text} tabIndex={0}>
          {text.slice(0, CHARS_SHOWN)}
        </pre>
      )}
      {text.length > CHARS_SHOWN && (
        <p className={records.soft}>
          {t.cut(count(CHARS_SHOWN, language), count(text.length, language))}
        </p>
      )}
    </section>
  );
}

/** Null for what is not text. */
async function read(address: string): Promise<string | null> {
  const response = await fetch(address);
  if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
  if (!response.headers.get("content-type")?.startsWith("text/plain")) {
    await response.body?.cancel();
    return null;
  }
  return response.text();
}
