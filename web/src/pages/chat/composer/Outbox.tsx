// What is on its way, what could not be sent, and what waits for its turn.
import { useWords } from "../../../i18n";
import { Button, explain } from "../../../ui";
import css from "./composer.module.css";
import { drop, NOT_SENT, send, useOutbox, type Sending } from "./outbox";
import { words } from "./words";

type OutboxProps = {
  sessionId: string;
  queued: readonly string[];
  onTakeBack: (message: Sending) => void;
};

export function Outbox(props: OutboxProps) {
  const t = useWords(words);
  const { sessionId, queued } = props;
  const box = useOutbox(sessionId);
  if (box.length === 0 && queued.length === 0) return null;
  return (
    <div className={css.outbox}>
      {queued.length > 0 && (
        <details className={css.queued}>
          <summary>{t.queued(queued.length)}</summary>
          <ol>
            {queued.map((text, at) => (
              <li key={at}>{text}</li>
            ))}
          </ol>
        </details>
      )}
      {box.map((one) => (
        <div key={one.id} className={css.pending} data-failed={one.error !== null || undefined}>
          <p className={css.said}>{one.text}</p>
          {one.error === null ? (
            <span>{t.sending}</span>
          ) : (
            <span className={css.failure} role="alert">
              {t.notSent} {one.error === NOT_SENT ? "" : explain(one.error)}
            </span>
          )}
          {one.error !== null && (
            <span className={css.buttons}>
              <Button small onClick={() => void send(sessionId, one)}>
                {t.retry}
              </Button>
              <Button
                small
                look="quiet"
                onClick={() => {
                  props.onTakeBack(one);
                  drop(sessionId, one.id);
                }}
              >
                {t.takeBack}
              </Button>
              <Button small look="quiet" onClick={() => drop(sessionId, one.id)}>
                {t.discard}
              </Button>
            </span>
          )}
        </div>
      ))}
    </div>
  );
}
