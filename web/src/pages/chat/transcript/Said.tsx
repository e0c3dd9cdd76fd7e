// What was said: by the person, by the model, and by the model to itself.

import { Brain, GitFork, PencilLine } from "lucide-react";
import { memo, use, useState, type ReactNode } from "react";

import { useWords } from "../../../i18n";
import { attachmentAddress, isPictureType } from "../../../markdown/links.ts";
import { FilesOf, Markdown } from "../../../markdown/Markdown.tsx";
import type { BlockRow, ThinkingRow, UserRow } from "../../../session/model.ts";
import { Badge, Copy, cx, IconButton, Time } from "../../../ui";
import { ActionsOf } from "./actions.ts";
import { Fold } from "./Fold.tsx";
import css from "./transcript.module.css";
import { words } from "./words.ts";

/** A longer one is no Markdown for reading. */
const MARKDOWN_CHARS_MAX = 200_000;

export const UserMessage = memo(function UserMessage({ row }: { row: UserRow }) {
  const t = useWords(words);
  const { onEdit, onFork } = use(ActionsOf);
  const isTurn = row.turnId !== null && row.steer === null;
  const steers = { waiting: t.steerWaiting, taken: t.steerTaken, dropped: t.steerDropped };
  return (
    <article className={css.user} aria-label={t.you}>
      <div className={css.bubble}>{row.content}</div>
      <Attachments row={row} />
      <div className={css.under}>
        <Actions>
          <Copy text={row.content} what={t.copyMessage} />
          {isTurn && onEdit && (
            <IconButton label={t.edit} onClick={() => onEdit(row)}>
              <PencilLine size={15} />
            </IconButton>
          )}
          {isTurn && onFork && (
            <IconButton label={t.fork} onClick={() => onFork(row)}>
              <GitFork size={15} />
            </IconButton>
          )}
        </Actions>
        {row.steer && <span>{steers[row.steer]}</span>}
        {row.isImported && <span>{t.imported}</span>}
        {row.ts !== null && <Time at={row.ts} />}
      </div>
    </article>
  );
});

function Attachments({ row }: { row: UserRow }) {
  if (row.attachments.length === 0) return null;
  return (
    <ul className={css.attachments}>
      {row.attachments.map((one, place) => (
        <li key={place}>
          <Attachment name={one.name || one.mime} mime={one.mime} messageId={row.messageId} place={place} />
        </li>
      ))}
    </ul>
  );
}

/** A picture as it was sent; of what is none, or was not kept, the name. */
function Attachment(props: { name: string; mime: string; messageId: string | null; place: number }) {
  const sessionId = use(FilesOf);
  const [isBroken, setBroken] = useState(false);
  const { name, mime, messageId, place } = props;
  if (isBroken || sessionId === null || messageId === null || !isPictureType(mime)) return <Badge>{name}</Badge>;
  const address = attachmentAddress(sessionId, messageId, place);
  return <img className={css.sent} src={address} alt={name} title={name} onError={() => setBroken(true)} />;
}

function Actions({ children }: { children: ReactNode }) {
  const t = useWords(words);
  return (
    <div className={css.actions} role="group" aria-label={t.actions}>
      {children}
    </div>
  );
}

export const AnswerBlock = memo(function AnswerBlock({ row }: { row: BlockRow }) {
  const t = useWords(words);
  const { onFork } = use(ActionsOf);
  return (
    <div className={css.answer} data-open={row.isOpen || undefined}>
      {row.raw.length > MARKDOWN_CHARS_MAX ? (
        <pre className={css.plain}>{row.isOpen ? row.raw.slice(-20_000) : row.raw}</pre>
      ) : (
        <Markdown text={row.raw} links={row.links} isOpen={row.isOpen} />
      )}
      {row.isLast && (
        <div className={cx(css.under, css.answered)}>
          <Actions>
            <Copy text={row.answer.text} what={t.copyAnswer} />
            {onFork && row.turnId !== null && (
              <IconButton label={t.fork} onClick={() => onFork(row)}>
                <GitFork size={15} />
              </IconButton>
            )}
          </Actions>
        </div>
      )}
    </div>
  );
});

export const Thinking = memo(function Thinking({ row }: { row: ThinkingRow }) {
  const t = useWords(words);
  const names: Record<string, string> = {
    model: t.thoughtModel,
    replan: t.thoughtReplan,
    memory: t.thoughtMemory,
  };
  const name = names[row.stage] ?? (row.isOpen ? t.thinking : t.thought);
  const last = row.text.trimEnd().split("\n").at(-1) ?? "";
  return (
    <Fold
      foldKey={row.key}
      className={css.thinking}
      summary={
        <>
          <Brain size={14} aria-hidden />
          <span className={css.stage}>{name}</span>
          <span className={css.glimpse}>{last.slice(-200)}</span>
        </>
      }
    >
      {() => <div className={css.thoughts}>{row.text}</div>}
    </Fold>
  );
});
