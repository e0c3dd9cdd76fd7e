// A change of a file that somebody is to decide upon. Unlike the kit's diff it folds nothing and
// leaves no line out, whatever a patch has between its files: what does not fit is scrolled to.
import { useWords } from "../i18n";
import css from "./change.module.css";
import { counted, type Run } from "./lines";
import { words } from "./words";

const MARKS = { added: "+", removed: "-", same: " ", place: "" };

export function Change(props: { path: string; runs: readonly Run[]; isWhole?: boolean }) {
  const t = useWords(words);
  const { added, removed } = counted(props.runs);
  return (
    <div className={css.diff} role="region" aria-label={t.diff(props.path || t.aFile)} tabIndex={0}>
      <div className={css.head}>
        {props.path && <code>{props.path}</code>}
        {props.isWhole && <span>{t.whole}</span>}
        <span className={css.added}>{t.added(added)}</span>
        {removed > 0 && <span className={css.removed}>{t.removed(removed)}</span>}
      </div>
      <pre className={css.lines}>
        {props.runs.map((run, at) => (
          <span key={at} className={css.run} data-kind={run.kind}>
            {run.lines.map((line) => MARKS[run.kind] + line).join("\n")}
          </span>
        ))}
      </pre>
    </div>
  );
}
