// What waits, grouped by session. A question that is answered anywhere leaves at once; the focus
// goes on to the next one.
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { QuestionCard } from "../../approvals";
import { askedOf, usePending, type Approval } from "../../approvals/waiting";
import { useShortcut } from "../../app/shortcuts";
import { useWords } from "../../i18n";
import { Empty, ErrorNote, Spinner } from "../../ui";
import { Inline } from "../../ui/Inline";
import css from "./inbox.module.css";
import { SessionHead } from "./SessionHead";
import { words } from "./words";

export function Waiting() {
  const t = useWords(words);
  const list = useRef<HTMLDivElement>(null);
  const { pending, error, refetch } = usePending();
  const left = useLeft(list, pending);
  useShortcut("j", t.next, () => step(list.current, 1));
  useShortcut("k", t.previous, () => step(list.current, -1));
  return (
    <div className={css.list} ref={list}>
      <p className="visually-hidden" role="status">
        {left > 0 && t.closed(left)}
      </p>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {pending === undefined && error === null && <Spinner />}
      {pending?.length === 0 && <Empty title={t.nothing}>{t.nothingHelp}</Empty>}
      {pending !== undefined && pending.length > 0 && (
        <p className={css.keys}>
          <Inline text={t.keys} />
        </p>
      )}
      {grouped(pending ?? []).map(([sessionId, questions]) => (
        <section key={sessionId} className={css.group}>
          <SessionHead sessionId={sessionId} count={questions.length} />
          {questions.map((one) => (
            <QuestionCard key={one.id} id={one.id} asked={askedOf(one)} />
          ))}
        </section>
      ))}
    </div>
  );
}

function grouped(approvals: readonly Approval[]): [string, Approval[]][] {
  const groups = new Map<string, Approval[]>();
  for (const one of approvals) groups.set(one.session_id, [...(groups.get(one.session_id) ?? []), one]);
  return [...groups];
}

function cards(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("[data-question]") ?? [])];
}

function step(list: HTMLElement | null, by: 1 | -1): void {
  const all = cards(list);
  const at = all.findIndex((card) => card.contains(document.activeElement));
  const next = at === -1 ? (by === 1 ? 0 : all.length - 1) : at + by;
  all[next]?.focus();
}

/** How many have left while one looks. Keeps the focus in the list when the card that has it goes,
 * and leads to the question that a notification named. */
function useLeft(list: React.RefObject<HTMLDivElement | null>, pending: Approval[] | undefined): number {
  const [left, setLeft] = useState(0);
  const seen = useRef<string[]>([]);
  const focused = useRef<number>(-1);
  const look = useEffectEvent((ids: string[]) => {
    const gone = seen.current.filter((id) => !ids.includes(id));
    const all = cards(list.current);
    if (gone.length > 0) {
      setLeft((count) => count + gone.length);
      const hadFocus = seen.current[focused.current];
      if (hadFocus !== undefined && gone.includes(hadFocus) && document.activeElement === document.body)
        all[Math.min(focused.current, all.length - 1)]?.focus();
    }
    if (seen.current.length === 0 && location.hash) all.find((card) => `#${card.id}` === location.hash)?.focus();
    seen.current = all.map((card) => card.id);
  });
  useEffect(() => {
    if (pending !== undefined) look(pending.map((one) => one.id));
  }, [pending]);
  useEffect(() => {
    const node = list.current;
    const note = () => {
      focused.current = cards(node).findIndex((card) => card.contains(document.activeElement));
    };
    node?.addEventListener("focusin", note);
    return () => node?.removeEventListener("focusin", note);
  }, [list]);
  return left;
}
