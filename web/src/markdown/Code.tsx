// A block of code: plain while it is written, with colours once it is whole and they are there.

import { memo, useEffect, useState, type ReactNode } from "react";

import { useWords } from "../i18n";
import { Button, Copy, cx } from "../ui";
import css from "./code.module.css";
import { highlight, known, KINDS, type Colours } from "./highlight.ts";
import { words } from "./words.ts";

/** A longer one is shown in part until somebody wants all of it. */
const LINES_SHOWN = 120;

export function Code(props: { text: string; language?: string | undefined; isOpen: boolean }) {
  const t = useWords(words);
  const [isAll, setAll] = useState(false);
  const language = /^[\w+#.-]{1,30}/.exec(props.language ?? "")?.[0] ?? "";
  const lines = count(props.text);
  const isLong = lines > LINES_SHOWN + 20;
  const part = isLong && !isAll ? cutText(props.text, props.isOpen) : props.text;
  return (
    <figure className={css.code} aria-label={language ? t.codeOf(language) : t.code}>
      <figcaption className={cx(css.head, language === "" && css.bare)}>
        <span>{language}</span>
        <Copy text={props.text} what={t.code} />
      </figcaption>
      {isLong && props.isOpen && <p className={css.more}>{t.linesAbove(lines - LINES_SHOWN)}</p>}
      <pre tabIndex={0}>
        {props.isOpen ? <code>{part}</code> : <Coloured text={part} language={language} />}
      </pre>
      {isLong && !props.isOpen && (
        <Button small look="quiet" onClick={() => setAll(!isAll)}>
          {isAll ? t.showLess : t.showLines(lines)}
        </Button>
      )}
    </figure>
  );
}

function count(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** The first lines, or of what is still written the last ones. */
function cutText(text: string, isEnd: boolean): string {
  let at = isEnd ? text.length : -1;
  for (let lines = 0; lines < LINES_SHOWN && (isEnd ? at > 0 : true); lines += 1) {
    at = isEnd ? text.lastIndexOf("\n", at - 1) : text.indexOf("\n", at + 1);
    if (at < 0) return text;
  }
  return isEnd ? text.slice(at + 1) : text.slice(0, at);
}

/** A text in the colours of its language, as soon as they are known. */
export const Coloured = memo(function Coloured({ text, language }: { text: string; language: string }) {
  const [found, setFound] = useState<{ text: string; colours: Colours } | null>(null);
  useEffect(() => {
    if (known(text, language)) return;
    let isWanted = true;
    void highlight(text, language).then((colours) => {
      if (isWanted && colours) setFound({ text, colours });
    });
    return () => {
      isWanted = false;
    };
  }, [text, language]);
  const colours = known(text, language) ?? (found?.text === text ? found.colours : null);
  return <code>{colours ? spans(text, colours) : text}</code>;
});

/** `colours`: kind and length in turn, over all of the text. */
function spans(text: string, colours: Colours): ReactNode[] {
  const made: ReactNode[] = [];
  let at = 0;
  for (let index = 0; index < colours.length; index += 2) {
    const kind = KINDS[colours[index] ?? 0];
    const piece = text.slice(at, at + (colours[index + 1] ?? 0));
    at += piece.length;
    made.push(
      kind === "plain" || kind === undefined ? (
        piece
      ) : (
        <span key={index} className={css[kind]}>
          {piece}
        </span>
      ),
    );
  }
  made.push(text.slice(at));
  return made;
}
