// Events below each other, their forms side by side. Only rows in sight are in the page.
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useLayoutEffect, useRef, useState, type ReactNode, type UIEvent } from "react";
import { useLanguage } from "../../i18n/language";
import { useWords } from "../../i18n";
import { Badge, Copy, cx, IconButton } from "../../ui";
import { count } from "../../ui/numbers";
import { laidOut, sizeOf, textsOf, type Column, type DebugEvent, type Words } from "./columns.ts";
import css from "./debug.module.css";
import { words } from "./words.ts";

const ROW_PX = 132;
const END_PX = 40;

export function Rows(props: {
  events: readonly DebugEvent[];
  columns: readonly Column[];
  top: ReactNode;
}) {
  const { events, columns } = props;
  const t = useWords(words);
  const scroller = useRef<HTMLDivElement>(null);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const isAtEnd = useRef(true);
  const list = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => events[index]?.id ?? index,
    overscan: 4,
    anchorTo: "end",
  });
  const newest = events.at(-1)?.id;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [newest, list.getTotalSize()]);
  const look = ({ currentTarget: element }: UIEvent<HTMLElement>) => {
    isAtEnd.current = element.scrollHeight - element.clientHeight - element.scrollTop <= END_PX;
  };
  const toggle = (id: number) =>
    setUnfolded((known) => {
      const next = new Set(known);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  return (
    <div ref={scroller} className={css.scroller} onScroll={look} role="region" aria-label={t.events} tabIndex={0}>
      {props.top}
      <div className={css.rows} style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const event = events[item.index];
          if (event === undefined) return null;
          return (
            <div
              key={item.key}
              ref={list.measureElement}
              data-index={item.index}
              className={css.row}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <EventRow
                event={event}
                columns={columns}
                isUnfolded={unfolded.has(event.id)}
                onToggle={() => toggle(event.id)}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function EventRow(props: {
  event: DebugEvent;
  columns: readonly Column[];
  isUnfolded: boolean;
  onToggle: () => void;
}) {
  const { event, isUnfolded } = props;
  const t = useWords(words);
  return (
    <article className={css.event} data-unfolded={isUnfolded} aria-label={`${event.id} ${event.type ?? ""}`}>
      <header className={css.eventHead}>
        <IconButton
          label={isUnfolded ? t.fold(event.id) : t.unfold(event.id)}
          aria-expanded={isUnfolded}
          onClick={props.onToggle}
        >
          {isUnfolded ? <ChevronDown size={15} /> : <ChevronRight size={15} />}
        </IconButton>
        <strong className={css.id}>{event.id}</strong>
        <Badge>{event.type ?? "?"}</Badge>
        {event.ts !== null && event.ts !== undefined && <Moment ms={event.ts} />}
      </header>
      <div className={css.forms}>
        {props.columns.map((column) => (
          <Form key={column} event={event} column={column} isUnfolded={isUnfolded} />
        ))}
      </div>
    </article>
  );
}

function Form(props: { event: DebugEvent; column: Column; isUnfolded: boolean }) {
  const { event, column, isUnfolded } = props;
  const t = useWords(words);
  const texts = textsOf(event, column);
  const all = texts.map((one) => one.text).join("\n");
  const size = count(sizeOf(texts), useLanguage());
  return (
    <section className={css.form}>
      <div className={css.formHead}>
        <span className={css.name}>{t[column]}</span>
        {texts.length > 0 && (
          <>
            <span className={css.soft}>{t.bytes(size)}</span>
            {column === "raw" && <Origin event={event} />}
            <Copy text={all} what={t.copyOf(t[column], event.id)} />
          </>
        )}
      </div>
      {texts.length === 0 && (
        <p className={css.soft}>{column === "raw" ? t.unknown : t.nothing}</p>
      )}
      {texts.map((one, at) => (
        <Text key={at} words={one} isUnfolded={isUnfolded} />
      ))}
    </section>
  );
}

function Text({ words: said, isUnfolded }: { words: Words; isUnfolded: boolean }) {
  const t = useWords(words);
  return (
    <pre className={css.text}>
      {isUnfolded ? laidOut(said.text) : said.text.slice(0, 600)}
      {said.is_cut && <span className={css.soft}> … {t.cut}</span>}
    </pre>
  );
}

function Origin({ event }: { event: DebugEvent }) {
  const t = useWords(words);
  const { raw } = event;
  if (!raw) return null;
  const frame = raw.last_id > raw.first_id ? t.ofMany(raw.first_id, raw.last_id) : "";
  return (
    <span className={cx(css.soft, css.origin)} title={frame || undefined}>
      {raw.source === "log" && t.quoted}
      {raw.at !== null && raw.at !== undefined && <Moment ms={raw.at} />} {frame}
    </span>
  );
}

/** To the millisecond: what came when is what this page is for. */
function Moment({ ms }: { ms: number }) {
  const at = new Date(ms);
  const shown = at.toLocaleTimeString(useLanguage(), { hour12: false });
  return (
    <time className={css.soft} dateTime={at.toISOString()} title={at.toISOString()}>
      {shown}.{String(at.getMilliseconds()).padStart(3, "0")}
    </time>
  );
}
