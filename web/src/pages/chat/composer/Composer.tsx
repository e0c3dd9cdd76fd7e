// Where a message is written: with files, commands and persons, to a turn that runs or the next.
import { ArrowUp, Paperclip, Square } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { ApiError } from "../../../api/client";
import { useWords } from "../../../i18n";
import { Button, cx, ErrorNote, IconButton } from "../../../ui";
import { isComposing } from "../../../ui/composing.ts";
import { attachmentsOf, useAttachments, type Attachments } from "./attachments";
import { completed, completionAt, type Completion, type Option } from "./completion";
import css from "./composer.module.css";
import { draftOf, keepDraft } from "./drafts";
import { Files } from "./Files";
import { freshId } from "./ids";
import { Outbox } from "./Outbox";
import { send, type Message, type Sending } from "./outbox";
import { words } from "./words";

type Named = { name: string; description: string };

type ComposerProps = {
  sessionId: string;
  isRunning: boolean;
  /** Whether a message can reach a turn that runs. */
  canSteer: boolean;
  isClosed?: boolean;
  /** What can be said behind a slash. */
  commands?: readonly Named[];
  /** Who can be named behind an @. */
  mentions?: readonly Named[];
  /** Messages that wait for their turn. */
  queued?: readonly string[];
  /** How many questions wait above. */
  questions?: number;
  /** A message that is said again in other words, with its files. */
  editing?: { key: string; text: string; files: Attachments; onCancel: () => void } | null;
  /** Whether it took the message; else that is sent. What it throws is shown, and the text stays. */
  onSend?: (message: Message) => Promise<boolean>;
  onStop?: () => void;
};

const NONE: readonly never[] = [];
/** On a phone's keyboard Enter is the only way to a new line. */
const touch = matchMedia("(pointer: coarse)");
const isTouch = () => touch.matches;

export function Composer(props: ComposerProps) {
  const t = useWords(words);
  const { sessionId, isRunning, canSteer, editing = null } = props;
  const [text, setText] = useState(() => editing?.text ?? draftOf(sessionId));
  const [whenBusy, setWhenBusy] = useState<"steer" | "queue">("steer");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const attached = useAttachments(editing?.files ?? attachmentsOf(sessionId));
  const editKey = editing?.key ?? null;
  /** Where one is: it may be left while a message waits to be taken. */
  const place = useRef("");
  place.current = placeOf(sessionId, editKey);

  useEffect(() => {
    setError(null);
    setText(editKey === null ? draftOf(sessionId) : (editing?.text ?? ""));
    if (editKey !== null || !isTouch()) area.current?.focus();
    // eslint-disable-next-line
  }, [sessionId, editKey]);
  useLayoutEffect(() => grow(area.current), [text]);
  useEffect(() => {
    // The card that was answered by keyboard took the focus with it.
    if (document.activeElement !== document.body || isTouch()) return;
    (document.querySelector<HTMLElement>("[data-question]") ?? area.current)?.focus();
  }, [props.questions]);

  const stop = () => {
    props.onStop?.();
    // The button goes away; who stops mostly has something else to say.
    if (!isTouch()) area.current?.focus();
  };
  const write = (next: string) => {
    setText(next);
    if (editKey === null) keepDraft(sessionId, next);
  };
  const takeBack = (back: Sending) => {
    write(text === "" ? back.text : `${back.text}\n${text}`);
    attached.take(back.files, back.error instanceof ApiError && back.error.code === "FILE_NOT_FOUND");
  };
  const isUploading = attached.files.some((file) => file.id === null);
  const canSend = text.trim() !== "" && !isUploading && !isBusy && props.isClosed !== true;
  const isWordless = text.trim() === "" && attached.files.length > 0 && !isUploading;
  const submit = async () => {
    if (!canSend) return;
    setError(null);
    setBusy(true);
    try {
      const ready = await attached.ready();
      if (ready === null) return;
      const message: Message = { id: freshId(), text, files: ready.files, whenBusy: canSteer ? whenBusy : "queue" };
      const isTaken = (await props.onSend?.(message)) ?? false;
      if (!isTaken) void send(sessionId, message);
      ready.sent();
      if (editKey === null) keepDraft(sessionId, writtenSince(text, draftOf(sessionId)));
      if (place.current === placeOf(sessionId, editKey)) setText((now) => writtenSince(text, now));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const completion = useCompletion(text, area, props, write);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    if (completion.onKeyDown(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !isTouch()) {
      event.preventDefault();
      void submit();
    } else if (event.key === "Escape" && editing !== null) editing.onCancel();
  };
  const takeFiles = (items: DataTransfer | null, event: React.SyntheticEvent) => {
    if (items === null || items.files.length === 0) return;
    event.preventDefault();
    attached.add(items.files);
  };
  return (
    <div className={css.composer}>
      <div className={css.inner}>
        <Outbox
          sessionId={sessionId}
          queued={props.queued ?? NONE}
          onTakeBack={takeBack}
        />
        {editing !== null && (
          <div className={css.editing}>
            {t.editing}
            <Button small look="quiet" onClick={editing.onCancel}>
              {t.editCancel}
            </Button>
          </div>
        )}
        {error !== null && <ErrorNote error={error} />}
        <DropBox onFiles={(items, event) => takeFiles(items, event)}>
          {completion.list}
          <Files files={attached.files} onRemove={attached.remove} />
          <textarea
            ref={area}
            className={css.text}
            aria-label={t.message}
            placeholder={placeholderOf(props, t)}
            disabled={props.isClosed}
            value={text}
            rows={1}
            maxLength={1_000_000}
            enterKeyHint={isTouch() ? "enter" : "send"}
            onChange={(event) => write(event.target.value)}
            onKeyDown={onKeyDown}
            onPaste={(event) => takeFiles(event.clipboardData, event)}
            {...completion.attributes}
          />
          <div className={css.bar}>
            <AttachButton onFiles={attached.add} isOff={props.isClosed === true} />
            {attached.problem !== null && (
              <span className={css.problem} role="alert">
                {attached.problem}
              </span>
            )}
            {isWordless && (
              <span className={css.hint} role="status">
                {t.wordless}
              </span>
            )}
            <span className={css.space} />
            {isRunning && canSteer && <WhenBusy value={whenBusy} onChange={setWhenBusy} />}
            {isRunning && props.onStop && (
              <Button small onClick={stop}>
                <Square size={13} aria-hidden />
                {t.stop}
              </Button>
            )}
            <Button small look="primary" disabled={!canSend} onClick={() => void submit()}>
              <ArrowUp size={15} aria-hidden />
              {t.send}
            </Button>
          </div>
        </DropBox>
      </div>
    </div>
  );
}

function placeOf(sessionId: string, editKey: string | null): string {
  return editKey ?? sessionId;
}

/** What stays for the next message when this one has gone. */
function writtenSince(sent: string, now: string): string {
  return now.startsWith(sent) ? now.slice(sent.length).trimStart() : now;
}

function placeholderOf(props: ComposerProps, t: (typeof words)["en"]): string {
  if (props.isClosed) return t.closed;
  if (props.isRunning) return t.placeholderRunning;
  if (props.mentions?.length) return t.placeholderPersons;
  return props.commands?.length ? t.placeholderCommands : t.placeholder;
}

function grow(area: HTMLTextAreaElement | null): void {
  if (area === null) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function DropBox(props: {
  children: React.ReactNode;
  onFiles: (items: DataTransfer, event: React.DragEvent) => void;
}) {
  const [isOver, setOver] = useState(false);
  const hasFiles = (event: React.DragEvent) => event.dataTransfer.types.includes("Files");
  return (
    <div
      className={css.box}
      data-dropping={isOver || undefined}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (hasFiles(event)) props.onFiles(event.dataTransfer, event);
      }}
    >
      {props.children}
    </div>
  );
}

function AttachButton({ onFiles, isOff }: { onFiles: (files: Iterable<File>) => void; isOff: boolean }) {
  const t = useWords(words);
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t.attach}
        onChange={(event) => {
          onFiles(event.target.files ?? []);
          event.target.value = "";
        }}
      />
      <IconButton label={t.attach} disabled={isOff} onClick={() => input.current?.click()}>
        <Paperclip size={16} />
      </IconButton>
    </>
  );
}

function WhenBusy(props: { value: "steer" | "queue"; onChange: (value: "steer" | "queue") => void }) {
  const t = useWords(words);
  const one = (value: "steer" | "queue", label: string, help: string) => (
    <button type="button" title={help} aria-pressed={props.value === value} onClick={() => props.onChange(value)}>
      {label}
    </button>
  );
  return (
    <span className={css.choice} role="group" aria-label={t.whenBusy}>
      {one("steer", t.steer, t.steerHelp)}
      {one("queue", t.queue, t.queueHelp)}
    </span>
  );
}

/** Suggestions above the text: arrows choose, Enter or Tab takes, Escape closes. */
function useCompletion(
  text: string,
  area: React.RefObject<HTMLTextAreaElement | null>,
  props: ComposerProps,
  write: (text: string) => void,
) {
  const t = useWords(words);
  const id = useId();
  const [chosen, setChosen] = useState(0);
  const [closedFor, setClosedFor] = useState<string | null>(null);
  const cursor = area.current?.selectionStart ?? text.length;
  const offered = { commands: props.commands ?? NONE, mentions: props.mentions ?? NONE };
  const found: Completion | null = text === closedFor ? null : completionAt(text, cursor, offered);
  const at = Math.min(chosen, Math.max(0, (found?.options.length ?? 0) - 1));
  const take = (option: Option | undefined) => {
    if (found === null || option === undefined) return;
    const done = completed(text, found, option);
    write(done.text);
    setChosen(0);
    setClosedFor(done.text);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(done.cursor, done.cursor);
    });
  };
  const onKeyDown = (event: React.KeyboardEvent): boolean => {
    if (found === null) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((at + step + found.options.length) % found.options.length);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) take(found.options[at]);
    else if (event.key === "Escape") setClosedFor(text);
    else return false;
    event.preventDefault();
    return true;
  };
  const list = found && (
    <ul className={css.options} role="listbox" id={id} aria-label={t.completions}>
      {found.options.map((option, place) => (
        <li
          key={option.name}
          id={`${id}-${place}`}
          role="option"
          aria-selected={place === at}
          className={cx(css.option)}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => take(option)}
        >
          <span>{option.name}</span>
          <span>{option.description}</span>
        </li>
      ))}
    </ul>
  );
  const attributes = found
    ? { "aria-autocomplete": "list" as const, "aria-controls": id, "aria-activedescendant": `${id}-${at}` }
    : {};
  return { list, onKeyDown, attributes };
}
