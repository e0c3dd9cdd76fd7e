// JSON that a person can read: foldable, strings with their line breaks, long lists in pieces.
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useWords } from "../i18n";
import { Button } from "./controls";
import { Copy } from "./Copy";
import css from "./json.module.css";
import { words } from "./words";

const ITEMS_SHOWN = 100;
const CHARS_SHOWN = 2_000;

/** `open`: how many levels are unfolded at first. `copy`: with a button that copies all of it. */
export function JsonView(props: { value: unknown; open?: number; copy?: boolean; label?: string }) {
  return (
    <div className={css.json} role="group" aria-label={props.label ?? "JSON"}>
      {props.copy && (
        <span className={css.copy}>
          <Copy text={() => JSON.stringify(props.value, null, 2)} what="JSON" />
        </span>
      )}
      <Value value={props.value} levels={props.open ?? 2} />
    </div>
  );
}

function Value({ name, value, levels }: { name?: string; value: unknown; levels: number }) {
  if (value !== null && typeof value === "object") {
    return <Folder name={name} value={value} levels={levels} />;
  }
  return (
    <div className={css.row}>
      <Name name={name} />
      <Plain value={value} />
    </div>
  );
}

function Folder({ name, value, levels }: { name?: string; value: object; levels: number }) {
  const t = useWords(words);
  const [isOpen, setOpen] = useState(levels > 0);
  const [shown, setShown] = useState(ITEMS_SHOWN);
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [first, last] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return (
      <div className={css.row}>
        <Name name={name} />
        <span className={css.soft}>{first + last}</span>
      </div>
    );
  }
  return (
    <details className={css.folder} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={css.summary}>
        <ChevronRight size={13} className={css.arrow} aria-hidden />
        <Name name={name} />
        <span className={css.soft}>
          {first}
          {isOpen ? "" : `… ${t.items(entries.length)} ${last}`}
        </span>
      </summary>
      {isOpen && (
        <div className={css.inner}>
          {entries.slice(0, shown).map(([key, inner]) => (
            <Value key={key} name={isList ? undefined : key} value={inner} levels={levels - 1} />
          ))}
          {entries.length > shown && (
            <Button look="quiet" small onClick={() => setShown(shown + 10 * ITEMS_SHOWN)}>
              {t.moreItems(entries.length - shown)}
            </Button>
          )}
        </div>
      )}
      {isOpen && <span className={css.soft}>{last}</span>}
    </details>
  );
}

function Name({ name }: { name?: string }) {
  if (name === undefined) return null;
  return (
    <>
      <span className={css.name}>{name}</span>
      <span className={css.soft}>: </span>
    </>
  );
}

function Plain({ value }: { value: unknown }) {
  const t = useWords(words);
  const [isAll, setAll] = useState(false);
  if (typeof value === "string") {
    const isLong = value.length > CHARS_SHOWN && !isAll;
    return (
      <span className={css.string}>
        {isLong ? `${value.slice(0, CHARS_SHOWN)}…` : value || '""'}
        {isLong && (
          <Button look="quiet" small onClick={() => setAll(true)}>
            {t.moreCharacters(value.length - CHARS_SHOWN)}
          </Button>
        )}
      </span>
    );
  }
  if (typeof value === "number") return <span className={css.number}>{String(value)}</span>;
  return <span className={css.word}>{String(value)}</span>;
}
