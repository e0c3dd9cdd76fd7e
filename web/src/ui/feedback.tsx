// What the page says back: errors, empty lists, waiting, states, short messages.
import { X } from "lucide-react";
import { useSyncExternalStore, type ReactNode } from "react";
import { ApiError } from "../api/client";
import { useWords, wordsNow } from "../i18n";
import { Button, IconButton } from "./controls";
import { cx } from "./cx";
import css from "./feedback.module.css";
import { words } from "./words";

/** What happened, in the server's words where it has some, and what to do. */
export function explain(error: unknown): string {
  const t = wordsNow(words);
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return t.unreachable;
  if (error.status === 401) return t.loggedOut;
  if (error.status === 403 && !error.message) return t.forbidden;
  return t.refused(error.code, error.message) || t.failed;
}

export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const t = useWords(words);
  // What was to be read is not there, and will not be.
  const isMissing = retry !== undefined && error instanceof ApiError && error.status === 404;
  return (
    <div className={cx(css.note, css.bad)} role="alert">
      <span>{isMissing ? t.missing : explain(error)}</span>
      {retry && !isMissing && (
        <Button small onClick={retry}>
          {t.retry}
        </Button>
      )}
    </div>
  );
}

/** An empty list: what belongs here, and what to do. */
export function Empty(props: { title: ReactNode; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={css.empty}>
      <h2>{props.title}</h2>
      {props.children && <p>{props.children}</p>}
      {props.action}
    </div>
  );
}

export function Spinner({ label }: { label?: string }) {
  const t = useWords(words);
  return <span className={css.spinner} role="status" aria-label={label ?? t.loading} />;
}

export function Waiting() {
  return (
    <div className={css.waiting}>
      <Spinner />
    </div>
  );
}

/** Instead of what was not read yet. What was read before stays, whatever becomes of the next try:
 * somebody may be writing there, and the mark of the line says that it is old. */
export function Unread({ of }: { of: { error: unknown; refetch: () => unknown } }) {
  if (of.error === null) return <Waiting />;
  return <ErrorNote error={of.error} retry={() => void of.refetch()} />;
}

export type Tone = "neutral" | "good" | "warn" | "fail" | "accent";

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={cx(css.badge, tone !== "neutral" && css[tone])}>{children}</span>;
}

type Toast = { id: number; text: string };
const SHOWN_MS = 6_000;
const SHOWN_MAX = 4;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function setToasts(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  setToasts(toasts.filter((one) => one.id !== id));
}

/** Says something for a few seconds. An error is said where it happened instead, if it can be. */
export function toast(said: string | Error): void {
  const id = ++lastId;
  setToasts([...toasts, { id, text: said instanceof Error ? explain(said) : said }].slice(-SHOWN_MAX));
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function Toasts() {
  const t = useWords(words);
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {shown.map((one) => (
        <div key={one.id} className={css.toast}>
          <p>{one.text}</p>
          <IconButton label={t.dismiss} onClick={() => dismiss(one.id)}>
            <X size={16} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
