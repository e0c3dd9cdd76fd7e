// Rows that say what became of something: plans, questions, notices, the end of a turn.

import { Check, Circle, CircleDot, Info, MessageCircleQuestion, TriangleAlert } from "lucide-react";
import { memo, use } from "react";

import { QuestionCard } from "../../../approvals";
import { allowed, endOf } from "../../../approvals/Outcome";
import { translated } from "../../../approvals/question";
import { words as asking } from "../../../approvals/words";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { FilesOf } from "../../../markdown/Markdown.tsx";
import { text } from "../../../session/event.ts";
import type { EndRow, NoticeRow, PlanRow, QuestionRow, SpeakerRow } from "../../../session/model.ts";
import { Badge, cx, Spinner } from "../../../ui";
import { usePhrase } from "../../../ui/said.ts";
import { useFeatureName } from "../../features";
import { ActionsOf } from "./actions.ts";
import { count, duration, money } from "../../../ui/numbers.ts";
import { adviceOn } from "./advice.ts";
import { asText, summaryOf } from "./calls.ts";
import cards from "./cards.module.css";
import { FileChanges } from "./Files.tsx";
import { Fold } from "./Fold.tsx";
import css from "./transcript.module.css";
import { words } from "./words.ts";

export const Plan = memo(function Plan({ row }: { row: PlanRow }) {
  const t = useWords(words);
  const done = row.tasks.filter((task) => task.status === "completed").length;
  const state = { completed: t.taskDone, in_progress: t.taskNow, pending: t.taskPending };
  const icon = { completed: Check, in_progress: CircleDot, pending: Circle };
  if (row.tasks.length === 0) return null; // it was taken back
  return (
    <Fold foldKey={row.key} isOpenAtFirst className={cards.card} summary={t.plan(done, row.tasks.length)}>
      {() => (
        <ul className={css.tasks}>
          {row.tasks.map((task, index) => {
            const Icon = icon[task.status];
            return (
              <li key={index} data-state={task.status}>
                <Icon size={14} aria-label={state[task.status]} role="img" /> <span>{task.title}</span>
              </li>
            );
          })}
        </ul>
      )}
    </Fold>
  );
});

export const Question = memo(function Question({ row }: { row: QuestionRow }) {
  const t = useWords(words);
  const answers = useWords(asking);
  const { question } = use(ActionsOf);
  const sessionId = use(FilesOf);
  if (row.resolution === null && question) return question(row);
  if (row.resolution === null && sessionId !== null) {
    const { requestId, event, ts, resolution } = row;
    return <QuestionCard asked={{ sessionId, requestId, event, askedAt: ts, resolution }} />;
  }
  const said = translated(text(row.event["message"]), answers.mayUse) || text(row.event["tool_name"]);
  const answer = row.resolution && asText(row.resolution.answer);
  const reason = row.resolution?.reason ?? "";
  const isPlain = row.event["kind"] === "input" || row.event["kind"] === "select";
  const state =
    row.resolution === null
      ? t.questionOpen
      : isPlain && row.resolution.confirmed
        ? t.questionAnswered
        : row.resolution.confirmed
          ? allowed(answers, row.resolution.scope ?? "once")
          : t.questionNo;
  return (
    <div className={css.question} data-open={row.resolution === null || undefined}>
      <MessageCircleQuestion size={15} aria-hidden />
      <span className={css.grow}>
        {said}
        {!isPlain && <code> {summaryOf({ input: row.event["tool_input"] })}</code>}
        {answer && <em> · {answer}</em>}
        {reason && <span className={css.faint}> · {endOf(answers, reason) ?? reason}</span>}
      </span>
      <Badge tone={row.resolution === null ? "accent" : row.resolution.confirmed ? "good" : "warn"}>{state}</Badge>
    </div>
  );
});

export const Notice = memo(function Notice({ row }: { row: NoticeRow }) {
  const t = useWords(words);
  const language = useLanguage();
  const nameOf = useFeatureName();
  const phrase = usePhrase();
  const tokens = (name: string) => {
    const value = row.event[name];
    return typeof value === "number" ? count(value, language) : "?";
  };
  const said: Record<NoticeRow["code"], string> = {
    compacted: t.compacted(tokens("before_tokens"), tokens("after_tokens")),
    not_compacted: t.notCompacted(row.text),
    gone: t.gone(row.text),
    held: t.held,
    imported: row.event["forked_from"] ? t.copied : phrase(row.text) || t.importedHere,
    lost: t.lost(row.text),
    problems: row.text,
    degraded: t.degraded(row.text.split(", ").map((one) => nameOf(one)).join(", ")),
    message: row.text,
    closed: t.closed,
    group: row.text,
  };
  const isBad = row.code === "gone" || row.code === "lost" || row.code === "problems";
  const Icon = isBad ? TriangleAlert : Info;
  return (
    <p className={cx(css.notice, isBad && css.warn)}>
      <Icon size={14} aria-hidden /> <span>{said[row.code]}</span>
    </p>
  );
});

export const Speaker = memo(function Speaker({ row }: { row: SpeakerRow }) {
  const t = useWords(words);
  return (
    <h3 className={css.speaker}>
      {row.person?.name}
      {row.by && <span className={css.faint}>{t.askedBy(row.by)}</span>}
      {row.state === "speaking" && (
        <>
          <Spinner label={t.speaking} />
          <span className={css.faint}>{t.speaking}</span>
        </>
      )}
      {row.state === "failed" && <Badge tone="fail">{t.failed}</Badge>}
      {row.state === "cancelled" && <Badge tone="warn">{t.cancelled}</Badge>}
    </h3>
  );
});

export const TurnEnd = memo(function TurnEnd({ row }: { row: EndRow }) {
  const t = useWords(words);
  const language = useLanguage();
  const { usage } = row;
  const advice = row.code === null ? null : adviceOn(row.code);
  const facts = [
    row.durationMs ? duration(row.durationMs, language) : "",
    usage && usage.tokensIn + usage.tokensOut > 0 ? t.tokens(usage.tokensIn, usage.tokensOut) : "",
    usage && usage.calls > 1 ? t.calls(usage.calls) : "",
    usage?.cost ? money(usage.cost.amount, usage.cost.currency, language) : "",
    usage?.models.join(", ") ?? "",
  ].filter(Boolean);
  return (
    <div className={css.end}>
      {row.state === "failed" && (
        <div className={css.failure} role="group" aria-label={t.turnFailed}>
          <strong>{t.turnFailed}</strong>
          <p>{row.error}</p>
          {advice !== null && <p>{t[advice]}</p>}
          {row.code && <code>{row.code}</code>}
        </div>
      )}
      <FileChanges files={row.files} foldKey={`${row.key}:files`} />
      {(row.state === "cancelled" || facts.length > 0) && (
        <p className={css.facts}>
          {row.state === "cancelled" && <Badge tone="warn">{t.cancelled}</Badge>}
          <span>
            {facts.map((fact, index) => (
              <span key={index}>
                {index > 0 && " · "}
                <span className={css.fact}>{fact}</span>
              </span>
            ))}
          </span>
        </p>
      )}
    </div>
  );
});
