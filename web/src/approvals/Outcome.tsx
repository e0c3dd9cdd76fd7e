// What became of a question.
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../api/me";
import { useWords } from "../i18n";
import { Badge } from "../ui";
import css from "./card.module.css";
import { kindOf, textOf, visible, type Asked } from "./question";
import { useSettled } from "./settled";
import { words } from "./words";

type Words = (typeof words)["en"];

export function Outcome({ asked }: { asked: Asked }) {
  const t = useWords(words);
  const settled = useSettled(asked);
  const { data: me } = useQuery(meQuery);
  const { resolution } = asked;
  if (resolution === null) {
    if (settled === null) return null;
    const said = { yes: allowed(t, settled.scope), no: t.denied, answer: t.answered, elsewhere: t.elsewhere, gone: t.gone };
    const tone = settled.how === "yes" || settled.how === "answer" ? "good" : "neutral";
    return <p className={css.outcome}>{<Badge tone={tone}>{said[settled.how]}</Badge>}</p>;
  }
  const isWord = kindOf(asked.event) !== "approve" && resolution.confirmed;
  const { answeredBy, answer, reason, confirmed } = resolution;
  const who = answeredBy === me?.user.id ? t.you : answeredBy;
  const end = answeredBy === null && reason !== null ? endOf(t, reason) : undefined;
  return (
    <div className={css.outcome}>
      <Badge tone={confirmed ? "good" : "neutral"}>
        {isWord ? t.answered : confirmed ? allowed(t, resolution.scope ?? "once") : t.denied}
      </Badge>
      {who !== null && who !== undefined && <span className={css.label}>{t.by(who)}</span>}
      {end !== undefined && <span className={css.label}>{end}</span>}
      {end === undefined && reason && <span>{t.because(visible(reason))}</span>}
      {answer !== null && answer !== undefined && <span>{t.said(visible(textOf(answer)))}</span>}
    </div>
  );
}

/** Why nobody's answer counts, where it is one of the reasons that the server gives. */
export function endOf(t: Words, reason: string): string | undefined {
  const ends: Record<string, string> = {
    turn_ended: t.turnEnded,
    timeout: t.timedOut,
    cancelled: t.cancelled,
    too_many: t.tooMany,
  };
  return Object.hasOwn(ends, reason) ? ends[reason] : undefined;
}

export function allowed(t: Words, scope?: string): string {
  if (scope === "always") return t.allowedAlways;
  return scope === "session" ? t.allowedSession : t.allowedOnce;
}
