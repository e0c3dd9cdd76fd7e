// The answers to a question: yes in three lengths, no with a reason, a choice, words.
import { useEffect, useId, useRef, useState, type Ref } from "react";
import { useMe } from "../api/me";
import { useWords } from "../i18n";
import { Button, Checkbox, Textarea } from "../ui";
import { isComposing } from "../ui/composing.ts";
import type { Answer } from "./answer";
import css from "./card.module.css";
import { useAgentName, useMachineName, useSessionRecord } from "./names";
import { kindOf, optionsOf, visible, type Asked } from "./question";
import { words } from "./words";

export type Step = "choices" | "no" | "always";

type Props = {
  asked: Asked;
  step: Step;
  isCut: boolean;
  isBusy: boolean;
  onStep: (step: Step) => void;
  onBack: () => void;
  onAnswer: (answer: Answer) => void;
};

export function Answers(props: Props) {
  if (props.step === "no") return <No {...props} />;
  if (props.step === "always") return <Always {...props} />;
  if (kindOf(props.asked.event) === "approve") return <Approve {...props} />;
  return <Words {...props} />;
}

const NO = /^(no|n|deny|denied|reject|rejected|refuse|refused|decline|declined|cancel|cancelled|不|否|拒绝|取消)(?![a-z])/i;

function Approve(props: Props) {
  const t = useWords(words);
  const { event } = props.asked;
  const isShut = props.isCut || props.isBusy;
  const options = optionsOf(event);
  return (
    <>
      <div className={css.answers}>
        <Button look="primary" disabled={isShut} onClick={() => props.onAnswer({ confirmed: true })}>
          {t.once} <kbd>y</kbd>
        </Button>
        <Button
          disabled={isShut}
          title={t.sessionHint}
          onClick={() => props.onAnswer({ confirmed: true, scope: "session" })}
        >
          {t.session} <kbd>s</kbd>
        </Button>
        <AlwaysButton {...props} />
        <Button disabled={props.isBusy} onClick={() => props.onStep("no")}>
          {t.no} <kbd>n</kbd>
        </Button>
      </div>
      {options.length > 0 && (
        <div className={css.choices} role="group" aria-label={t.otherAnswers}>
          <span className={css.label}>{t.otherAnswers}</span>
          {options.map((option) => (
            <Button
              key={option}
              small
              disabled={NO.test(option.trim()) ? props.isBusy : isShut}
              onClick={() => props.onAnswer({ confirmed: !NO.test(option.trim()), answer: option })}
            >
              {visible(option)}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}

/** Only where the question shows what it would mean, and to whom it is to say. */
function AlwaysButton(props: Props) {
  const t = useWords(words);
  const me = useMe();
  const session = useSessionRecord(props.asked.sessionId);
  const { event } = props.asked;
  if (typeof event["rule"] !== "string" || event["group"] !== undefined) return null;
  if (session !== undefined && session.user_id !== me.user.id) return null;
  return (
    <Button disabled={props.isCut || props.isBusy} onClick={() => props.onStep("always")}>
      {t.always} <kbd>a</kbd>
    </Button>
  );
}

function Always(props: Props) {
  const t = useWords(words);
  const main = useRef<HTMLButtonElement>(null);
  const session = useSessionRecord(props.asked.sessionId);
  const agent = useAgentName(session?.agent_id);
  const machine = useMachineName(session?.machine_id);
  useEffect(() => main.current?.focus(), []);
  const rule = props.asked.event["rule"];
  return (
    <div className={css.step}>
      <div className={css.rule}>
        <p className={css.label}>{t.ruleIs}</p>
        <p>
          <code>allow {typeof rule === "string" && visible(rule)}</code>
        </p>
        {session !== undefined && <p>{session.agent_id ? t.ruleAgent(agent) : t.ruleMachine(machine)}</p>}
        <p className={css.label}>{t.ruleRemove}</p>
      </div>
      <div className={css.answers}>
        <Button
          ref={main}
          look="primary"
          disabled={props.isBusy}
          onClick={() => props.onAnswer({ confirmed: true, scope: "always" })}
        >
          {t.makeRule} <kbd>Enter</kbd>
        </Button>
        <Button disabled={props.isBusy} onClick={props.onBack}>
          {t.back} <kbd>Esc</kbd>
        </Button>
      </div>
    </div>
  );
}

/** Words of the person. Enter sends them, but not the one that ends a word of an input method. */
function Written(props: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  onSend: () => void;
  maxLength?: number;
  ref?: Ref<HTMLTextAreaElement>;
}) {
  const id = useId();
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event.nativeEvent)) return;
    event.preventDefault();
    props.onSend();
  };
  return (
    <>
      <label htmlFor={id}>{props.label}</label>
      <Textarea
        ref={props.ref}
        id={id}
        maxLength={props.maxLength}
        value={props.value}
        onChange={(event) => props.onChange(event.target.value)}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

function No(props: Props) {
  const t = useWords(words);
  const [reason, setReason] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = () => props.onAnswer({ confirmed: false, ...(reason.trim() && { reason: reason.trim() }) });
  return (
    <div className={css.step}>
      <Written label={t.reason} value={reason} onChange={setReason} onSend={send} maxLength={2000} ref={field} />
      <div className={css.answers}>
        <Button look="primary" disabled={props.isBusy} onClick={send}>
          {t.sayNo} <kbd>Enter</kbd>
        </Button>
        <Button disabled={props.isBusy} onClick={props.onBack}>
          {t.back} <kbd>Esc</kbd>
        </Button>
      </div>
    </div>
  );
}

/** A choice, or words. */
function Words(props: Props) {
  const t = useWords(words);
  const options = optionsOf(props.asked.event);
  const isMany = props.asked.event["multi_select"] === true;
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const isShut = props.isCut || props.isBusy;
  const said = text.trim();
  const isSaid = said !== "" || chosen.length > 0;
  const send = () => {
    if (!isSaid || isShut) return;
    props.onAnswer({ confirmed: true, answer: isMany ? [...chosen, ...(said ? [said] : [])] : said });
  };
  return (
    <div className={css.step}>
      {options.length > 0 && (
        <div className={css.choices} role="group" aria-label={isMany ? t.chooseSome : t.answer}>
          {isMany && <span className={css.label}>{t.chooseSome}</span>}
          {options.map((option) =>
            isMany ? (
              <Checkbox
                key={option}
                label={visible(option)}
                checked={chosen.includes(option)}
                onChange={(on) => setChosen(on ? [...chosen, option] : chosen.filter((one) => one !== option))}
              />
            ) : (
              <Button
                key={option}
                disabled={isShut}
                onClick={() => props.onAnswer({ confirmed: true, answer: option })}
              >
                {visible(option)}
              </Button>
            ),
          )}
        </div>
      )}
      <Written
        label={options.length > 0 ? t.ownWords : t.yourAnswer}
        value={text}
        onChange={setText}
        onSend={send}
      />
      <div className={css.answers}>
        <Button look="primary" disabled={isShut || !isSaid} onClick={send}>
          {t.answer} <kbd>Enter</kbd>
        </Button>
        <Button disabled={props.isBusy} onClick={() => props.onStep("no")}>
          {t.noAnswer}
        </Button>
      </div>
    </div>
  );
}
