import { useState } from "react";

import { Coloured } from "../../../markdown/Code.tsx";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { Button } from "../../../ui";
import { count } from "../../../ui/numbers.ts";
import { terminalText } from "./calls.ts";
import css from "./cards.module.css";
import { words } from "./words.ts";

const CHARS_SHOWN = 8000;
const LIVE_CHARS_SHOWN = 2000;

/** A text that may be long: its beginning, or of one that still grows its end. */
export function LongText(props: { text: string; label: string; isLive?: boolean; language?: string }) {
  const t = useWords(words);
  const language = useLanguage();
  const [isAll, setAll] = useState(false);
  const { text, isLive = false } = props;
  const most = isLive ? LIVE_CHARS_SHOWN : CHARS_SHOWN;
  const isCut = !isAll && text.length > most;
  const shown = !isCut ? text : isLive ? text.slice(-most) : text.slice(0, most);
  return (
    <>
      <pre className={css.text} role="region" aria-label={props.label} tabIndex={0}>
        {props.language ? <Coloured text={shown} language={props.language} /> : shown}
      </pre>
      {isCut && !isLive && (
        <Button small look="quiet" onClick={() => setAll(true)}>
          {`${t.showAll} (${count(text.length, language)})`}
        </Button>
      )}
    </>
  );
}

/** A command and what it puts out. */
export function Terminal({ command, output, isLive }: { command: string; output: string; isLive: boolean }) {
  const t = useWords(words);
  const text = terminalText(output);
  return (
    <div className={css.terminal}>
      <pre className={css.command}>
        <span className={css.prompt} aria-hidden>
          ${" "}
        </span>
        <Coloured text={command} language="bash" />
      </pre>
      {text.trim() !== "" && <LongText text={text.replace(/\n$/, "")} label={t.terminal} isLive={isLive} />}
    </div>
  );
}
