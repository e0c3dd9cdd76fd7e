// A question with all that it is about, and its answers; for the inbox and for the transcript.
import { ShieldCheck } from "lucide-react";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { useWords } from "../i18n";
import { useFenceWords } from "../ui/said";
import { Badge, cx, ErrorNote } from "../ui";
import { isComposing } from "../ui/composing.ts";
import { useAnswer, type Answer } from "./answer";
import { Answers, type Step } from "./Answers";
import css from "./card.module.css";
import { Outcome } from "./Outcome";
import { Parts } from "./Parts";
import { deadlineOf, isCut, kindOf, messageOf, partsOf, speakerOf, toolOf, translated, visible, type Asked } from "./question";
import { useSettled } from "./settled";
import { TimeLeft } from "./TimeLeft";
import { words } from "./words";

export function QuestionCard(props: {
  asked: Asked;
  /** Where it is asked, where that is not plain. */
  place?: ReactNode;
  /** `id` of the element, to lead to it. */
  id?: string;
}) {
  const { asked } = props;
  const settled = useSettled(asked);
  const isOver = asked.resolution !== null || settled !== null;
  return isOver ? <SettledCard {...props} /> : <OpenCard {...props} />;
}

function SettledCard({ asked, place, id }: { asked: Asked; place?: ReactNode; id?: string }) {
  const t = useWords(words);
  return (
    <article className={cx(css.card, css.settled)} id={id} aria-label={t.question}>
      <Head asked={asked} place={place} />
      <Outcome asked={asked} />
      <details>
        <summary>{t.details}</summary>
        <div className={css.step}>
          <Parts parts={partsOf(asked.event)} />
        </div>
      </details>
    </article>
  );
}

function OpenCard({ asked, place, id }: { asked: Asked; place?: ReactNode; id?: string }) {
  const t = useWords(words);
  const card = useRef<HTMLElement>(null);
  const fenceWords = useFenceWords();
  const [step, setStep] = useState<Step>("choices");
  const answer = useAnswer(asked);
  const { event } = asked;
  const parts = useMemo(() => partsOf(event), [event]);
  const cut = useMemo(() => isCut(event), [event]);
  const kind = kindOf(event);
  const send = (given: Answer) => {
    if (!answer.isPending) answer.mutate(given);
  };
  const back = () => {
    setStep("choices");
    card.current?.focus();
  };
  const onKeyDown = (pressed: React.KeyboardEvent) => {
    if (isComposing(pressed.nativeEvent) || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    if (pressed.key === "Escape" && step !== "choices") {
      pressed.preventDefault();
      back();
      return;
    }
    if (step !== "choices" || kind !== "approve" || isWriting(pressed.target)) return;
    const act = {
      y: () => !cut && send({ confirmed: true }),
      s: () => !cut && send({ confirmed: true, scope: "session" }),
      a: () => !cut && typeof event["rule"] === "string" && setStep("always"),
      n: () => setStep("no"),
    }[pressed.key.toLowerCase()];
    if (act === undefined) return;
    pressed.preventDefault();
    act();
  };
  return (
    <article
      ref={card}
      id={id}
      className={css.card}
      tabIndex={0}
      aria-label={`${t.question}: ${messageOf(event)}`}
      aria-busy={answer.isPending}
      data-question={asked.requestId}
      onKeyDown={onKeyDown}
    >
      <Head asked={asked} place={place} isOpen />
      <Parts parts={parts} />
      {kind === "approve" && typeof event["fence"] === "string" && (
        <details className={css.fence}>
          <summary>
            <ShieldCheck size={14} aria-hidden />
            <span>{t.fence(fenceWords(visible(event["fence"])))}</span>
          </summary>
        </details>
      )}
      {cut && <p className={css.cut}>{t.cut}</p>}
      {answer.error !== null && <ErrorNote error={answer.error} />}
      <Answers
        asked={asked}
        step={step}
        isCut={cut}
        isBusy={answer.isPending}
        onStep={setStep}
        onBack={back}
        onAnswer={send}
      />
      <p className={css.label} role="status">
        {answer.isPending && t.sending}
      </p>
    </article>
  );
}

function Head({ asked, place, isOpen }: { asked: Asked; place?: ReactNode; isOpen?: boolean }) {
  const t = useWords(words);
  const speaker = speakerOf(asked.event);
  const tool = toolOf(asked.event);
  const agent = asked.event["agent"];
  const until = isOpen ? deadlineOf(asked) : null;
  const who = [place, speaker && t.asks(speaker), typeof agent === "string" && agent && t.agent(visible(agent))];
  return (
    <header className={css.head}>
      <div className={css.said}>
        {who.some(Boolean) && (
          <p className={css.label}>
            {who.filter(Boolean).map((one, at) => (
              <span key={at}>
                {at > 0 && " · "}
                {one}
              </span>
            ))}
          </p>
        )}
        <p className={css.message}>{translated(messageOf(asked.event), t.mayUse) || t.question}</p>
      </div>
      {tool && <Badge>{tool}</Badge>}
      {until !== null && <TimeLeft until={until} />}
    </header>
  );
}

function isWriting(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}
