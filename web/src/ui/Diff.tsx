// A unified diff, file by file: what was added and removed, with line numbers, wrapped.
import { ChevronRight } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { useWords } from "../i18n";
import { Button } from "./controls";
import { cx } from "./cx";
import css from "./diff.module.css";
import { Badge } from "./feedback";
import { nameOf, parseDiff, type DiffFile, type DiffHunk, type DiffLine } from "./unified";
import { words } from "./words";

/** Of one file, before somebody asks for the rest: a diff of a lock file must not stop the page. */
const LINES_SHOWN = 400;

/**
 * `text`: a unified diff, of one file or many. `path`: the file's name, where the diff has none.
 * `folded`: only the names of the files, until one is opened.
 */
export const Diff = memo(function Diff(props: { text: string; path?: string; folded?: boolean }) {
  const t = useWords(words);
  const files = useMemo(() => parseDiff(props.text), [props.text]);
  if (files.length === 0) return <p className={css.none}>{t.noDifference}</p>;
  return (
    <div className={css.diff}>
      {files.map((file, at) => (
        <File key={at} file={file} name={nameOf(file) || props.path || ""} folded={props.folded} />
      ))}
    </div>
  );
});

/** How many lines a diff adds and removes. */
export function DiffStat({ added, removed }: { added: number; removed: number }) {
  const t = useWords(words);
  return (
    <span className={css.stat} aria-label={t.lines(added, removed)} role="img">
      {added > 0 && <span className={css.plus}>+{added}</span>}
      {removed > 0 && <span className={css.minus}>−{removed}</span>}
    </span>
  );
}

function File({ file, name, folded }: { file: DiffFile; name: string; folded?: boolean }) {
  const t = useWords(words);
  const [isAll, setAll] = useState(false);
  const count = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const hunks = isAll ? file.hunks : firstLines(file.hunks, LINES_SHOWN);
  return (
    <details className={css.file} open={!folded}>
      <summary className={css.head}>
        <ChevronRight size={15} className={css.arrow} aria-hidden />
        <span className={css.name}>
          {file.change === "renamed" && file.before !== null ? `${file.before} → ${name}` : name || t.diff}
        </span>
        {file.change === "added" && <Badge tone="good">{t.newFile}</Badge>}
        {file.change === "removed" && <Badge tone="fail">{t.removedFile}</Badge>}
        <DiffStat added={file.added} removed={file.removed} />
      </summary>
      {file.isBinary && <p className={css.none}>{t.binary}</p>}
      {hunks.map((hunk, at) => (
        <div key={at} className={css.hunk}>
          {hunk.head && <div className={css.hunkHead}>{hunk.head}</div>}
          {hunk.lines.map((line, number) => (
            <Line key={number} line={line} />
          ))}
        </div>
      ))}
      {!isAll && count > LINES_SHOWN && (
        <Button look="quiet" small onClick={() => setAll(true)}>
          {t.moreLines(count - LINES_SHOWN)}
        </Button>
      )}
    </details>
  );
}

const MARKS = { add: "+", remove: "−", same: " ", note: "" } as const;

function Line({ line }: { line: DiffLine }) {
  const Kind = line.kind === "add" ? "ins" : line.kind === "remove" ? "del" : "div";
  return (
    <Kind className={cx(css.line, css[line.kind])}>
      <span className={css.number} data-number={line.before ?? ""} aria-hidden />
      <span className={css.number} data-number={line.after ?? ""} aria-hidden />
      <span className={css.mark} data-mark={MARKS[line.kind]} aria-hidden />
      <span className={css.text}>{line.text || "\n"}</span>
    </Kind>
  );
}

function firstLines(hunks: readonly DiffHunk[], most: number): DiffHunk[] {
  const found: DiffHunk[] = [];
  let left = most;
  for (const hunk of hunks) {
    if (left <= 0) break;
    found.push(hunk.lines.length <= left ? hunk : { ...hunk, lines: hunk.lines.slice(0, left) });
    left -= hunk.lines.length;
  }
  return found;
}
