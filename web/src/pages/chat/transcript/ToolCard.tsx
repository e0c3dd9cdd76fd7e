// A call of a tool or a skill: one line, and when it is opened what went in and came out.

import { Ban, Bot, Check, CircleStop, CircleX, Pencil, Sparkles, SquareTerminal, Wrench } from "lucide-react";
import { memo, type ReactNode } from "react";

import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import type { ToolRow } from "../../../session/model.ts";
import { Badge, Diff, DiffStat, Spinner } from "../../../ui";
import { count, duration } from "../../../ui/numbers.ts";
import { asText, commandOf, editsOf, outputBefore, summaryOf } from "./calls.ts";
import css from "./cards.module.css";
import { FileLine } from "./Files.tsx";
import { Fold } from "./Fold.tsx";
import { LongText, Terminal } from "./Output.tsx";
import { RowView } from "./RowView.tsx";
import { words } from "./words.ts";

export const ToolCard = memo(function ToolCard({ row }: { row: ToolRow }) {
  const isLive = row.state === "running" && (row.output !== "" || row.rows.length > 0);
  const isCutShort = row.state === "stopped" && row.output !== "";
  return (
    <Fold
      // A person's choice while it runs is not one about its result.
      foldKey={`${row.key}:${row.state === "running" ? "live" : "done"}`}
      isOpenAtFirst={isLive || isCutShort || row.state === "failed"}
      className={css.card}
      summary={<Summary row={row} />}
    >
      {() => <Body row={row} />}
    </Fold>
  );
});

function Summary({ row }: { row: ToolRow }) {
  const t = useWords(words);
  const edits = row.files.filter((file) => file.diff !== "" || file.additions + file.deletions > 0);
  const additions = edits.reduce((sum, file) => sum + file.additions, 0);
  const deletions = edits.reduce((sum, file) => sum + file.deletions, 0);
  return (
    <>
      <Icon row={row} />
      <span className={css.name}>{row.skill ? t.skill(row.skill) : row.name}</span>
      {row.agent && <Badge>{t.agent(row.agent)}</Badge>}
      <span className={css.about}>{summaryOf(row)}</span>
      {edits.length > 0 && <DiffStat added={additions} removed={deletions} />}
      <State row={row} />
    </>
  );
}

function Icon({ row }: { row: ToolRow }) {
  if (row.skill) return <Sparkles size={15} aria-hidden />;
  if (row.agent) return <Bot size={15} aria-hidden />;
  if (commandOf(row) !== null) return <SquareTerminal size={15} aria-hidden />;
  if (row.files.length > 0 || editsOf(row).length > 0) return <Pencil size={15} aria-hidden />;
  return <Wrench size={15} aria-hidden />;
}

function State({ row }: { row: ToolRow }) {
  const t = useWords(words);
  const language = useLanguage();
  const took = row.endedTs !== null && row.ts !== null ? duration(row.endedTs - row.ts, language) : "";
  const marks: Record<ToolRow["state"], ReactNode> = {
    running: <Spinner label={t.running} />,
    done: <Check size={14} className={css.good} aria-label={t.completed} />,
    failed: (
      <span className={css.bad}>
        <CircleX size={14} aria-hidden /> {t.failed}
      </span>
    ),
    denied: (
      <span className={css.warn}>
        <Ban size={14} aria-hidden /> {t.denied}
      </span>
    ),
    stopped: (
      <span className={css.faint}>
        <CircleStop size={14} aria-hidden /> {t.stopped}
      </span>
    ),
  };
  return (
    <span className={css.state}>
      {took && <span className={css.faint}>{took}</span>}
      {marks[row.state]}
    </span>
  );
}

function Body({ row }: { row: ToolRow }) {
  const t = useWords(words);
  const command = commandOf(row);
  const edits = editsOf(row);
  const result = asText(row.result);
  const isRunning = row.state === "running";
  const before = outputBefore(row);
  if (command !== null) {
    return (
      <>
        <Terminal command={command} output={joined(before, result)} isLive={isRunning} />
        <Exit row={row} />
        <FilesAndRows row={row} />
      </>
    );
  }
  return (
    <>
      {edits.length > 0
        ? edits.map((edit, index) => <Diff key={index} path={edit.path} text={edit.diff} />)
        : row.input !== null && (
            <Part label={t.input}>
              <LongText text={asText(row.input)} label={t.input} {...(typeof row.input === "object" && { language: "json" })} />
            </Part>
          )}
      {before !== "" && <LongText text={before} label={t.liveOutput} isLive={isRunning} />}
      {result !== "" && (edits.length === 0 || row.state !== "done") && (
        <Part label={t.result}>
          <LongText text={result} label={t.result} />
        </Part>
      )}
      {!isRunning && before === "" && result === "" && row.rows.length === 0 && edits.length === 0 && (
        <p className={css.faint}>{t.noResult}</p>
      )}
      <FilesAndRows row={row} />
    </>
  );
}

function joined(before: string, result: string): string {
  return before === "" || result === "" ? before + result : `${before.trimEnd()}\n${result}`;
}

function Part({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <p className={css.label}>{label}</p>
      {children}
    </div>
  );
}

function Exit({ row }: { row: ToolRow }) {
  const t = useWords(words);
  const language = useLanguage();
  const code = row.details["exit_code"];
  const cut = row.details["output_cut_chars"];
  const isTold = asText(row.result).endsWith(`[exit code ${code}]`);
  const said = [
    typeof code === "number" && code !== 0 && !isTold && t.exit(code),
    typeof cut === "number" && cut > 0 && t.cut(count(cut, language)),
  ].filter(Boolean);
  return said.length === 0 ? null : <p className={css.faint}>{said.join(" · ")}</p>;
}

function FilesAndRows({ row }: { row: ToolRow }) {
  return (
    <>
      {row.files.map((file) => (
        <FileLine key={file.path} file={file} />
      ))}
      {row.rows.length > 0 && (
        <div className={css.inner}>
          {row.rows.map((one) => (
            <RowView key={one.key} row={one} />
          ))}
        </div>
      )}
    </>
  );
}
