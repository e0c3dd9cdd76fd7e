// What a search found: in titles first, then in what was said.
import { Link } from "@tanstack/react-router";
import { useWords } from "../../../i18n";
import type { Schemas } from "../../../api/client";
import { Empty, Time, Unread } from "../../../ui";
import { words } from "../words";
import css from "./list.module.css";
import { useSearch } from "./sessions";

export function Hits({ wanted, openId }: { wanted: string; openId: string | null }) {
  const t = useWords(words);
  const found = useSearch(wanted);
  const { data } = found;
  if (data === undefined) return <Unread of={found} />;
  return (
    <>
      {data.items.length === 0 && <Empty title={t.noHits}>{t.noHitsHelp}</Empty>}
      <ul className={css.hits}>
        {data.items.map((hit, at) => (
          <li key={at} className={css.entry} data-open={hit.session_id === openId || undefined}>
            <Hit hit={hit} words={wanted.toLowerCase().split(/\s+/).filter(Boolean)} />
          </li>
        ))}
      </ul>
      {!data.complete && data.items.length > 0 && <p className={css.note}>{t.notAll}</p>}
    </>
  );
}

function Hit({ hit, words: parts }: { hit: Schemas["SearchHit"]; words: readonly string[] }) {
  const t = useWords(words);
  const where = { title: t.inTitle, message: t.inMessage, answer: t.inAnswer }[hit.where];
  return (
    <Link
      to="/chat/$sessionId"
      params={{ sessionId: hit.session_id }}
      {...(hit.event_id !== null && { search: { at: hit.event_id } })}
      className={css.link}
    >
      <span className={css.cut}>{hit.title ?? t.untitled}</span>
      <span className={css.under}>
        <Time at={hit.at} />
      </span>
      {hit.where !== "title" && (
        <span className={css.snippet}>
          {where}: <Marked text={hit.snippet} parts={parts} />
        </span>
      )}
    </Link>
  );
}

/** The text with what was looked for marked. */
function Marked({ text, parts }: { text: string; parts: readonly string[] }) {
  const lowered = text.toLowerCase();
  const pieces: React.ReactNode[] = [];
  let from = 0;
  while (from < text.length) {
    const found = parts
      .map((part) => ({ at: lowered.indexOf(part, from), length: part.length }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    if (found === undefined) break;
    const end = found.at + found.length;
    pieces.push(text.slice(from, found.at), <mark key={found.at}>{text.slice(found.at, end)}</mark>);
    from = end;
  }
  return [...pieces, text.slice(from)];
}
