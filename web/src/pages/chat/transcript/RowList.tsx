// Rows, of which only those in sight are in the page. Who is at the end stays there; who is not is
// left where they are, also when older rows come in front.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode, type UIEvent } from "react";

import { useWords } from "../../../i18n";
import type { Row } from "../../../session/model.ts";
import { Button } from "../../../ui";
import { FoldsOf, type Folds } from "./folds.ts";
import { RowView } from "./RowView.tsx";
import css from "./transcript.module.css";
import { words } from "./words.ts";

/** How near to the end counts as being there, and how near to the beginning older rows are read. */
const END_PX = 48;
const BEGIN_PX = 1500;

const HEIGHTS: Record<Row["kind"], number> = {
  user: 76, block: 60, thinking: 30, tool: 40, plan: 120, file: 34, question: 60, notice: 28, speaker: 36, end: 30,
};

export type RowListProps = {
  rows: readonly Row[];
  label: string;
  /** Above the first row: that there is more, or that it is being read. */
  top?: ReactNode;
  /** Called when the beginning comes into sight; null while there is nothing to read. */
  onBeginning?: (() => void) | null;
  /** An event to be led to, once; what is older is read until it is there. */
  at?: number | null;
};

export function RowList({ rows, label, top, onBeginning = null, at = null }: RowListProps) {
  const t = useWords(words);
  const scroller = useRef<HTMLDivElement>(null);
  const folds = useRef<Folds>(new Map());
  const [isAtEnd, setAtEnd] = useState(true);
  const lastSeen = useRef<string | null>(null);

  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => HEIGHTS[rows[index]?.kind ?? "block"],
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 6,
    // Older rows that come in front leave the ones in sight where they are.
    anchorTo: "end",
    paddingStart: 16,
    paddingEnd: 16,
  });

  // Whoever is at the end stays there until they scroll up: after each drawing, which measuring and
  // new rows both lead to. How far away the end is says nothing, as rows come in bursts.
  const isFollowing = useRef(true);
  const lastTop = useRef(0);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !isFollowing.current) return;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  });
  const follow = (isWanted: boolean) => {
    isFollowing.current = isWanted;
    if (isWanted) lastSeen.current = null;
    else lastSeen.current ??= rows.at(-1)?.key ?? null;
    setAtEnd(isWanted);
  };
  const look = ({ currentTarget: element }: UIEvent<HTMLElement>) => {
    const left = element.scrollHeight - element.clientHeight - element.scrollTop;
    const isUp = element.scrollTop < lastTop.current - 1;
    lastTop.current = element.scrollTop;
    if (left <= END_PX) follow(true);
    else if (isUp) follow(false);
    if (element.scrollTop < BEGIN_PX) onBeginning?.();
  };
  // A short conversation has nothing to scroll: what was before it is read at once.
  const isShort = list.getTotalSize() < (scroller.current?.clientHeight ?? 0);
  useEffect(() => {
    if (isShort) onBeginning?.();
  }, [isShort, onBeginning]);

  const shown = useRef<number | null>(null);
  const [found, setFound] = useState<string | null>(null);
  useLayoutEffect(() => {
    if (at === null || shown.current === at) return;
    const index = rows.findLastIndex((row) => row.eventId <= at);
    if (index < 0 || (index === 0 && onBeginning !== null)) {
      onBeginning?.();
      return;
    }
    shown.current = at;
    setFound(rows[index]?.key ?? null);
    follow(false);
    list.scrollToIndex(index, { align: "center" });
  });

  const news = isAtEnd ? 0 : behind(rows, lastSeen.current);
  return (
    <FoldsOf value={folds.current}>
      <div className={css.frame}>
        <div ref={scroller} className={css.scroller} onScroll={look} role="log" aria-live="off" aria-label={label} tabIndex={0}>
          {top}
          <div className={css.rows} style={{ height: list.getTotalSize() }}>
            {list.getVirtualItems().map((item) => {
              const row = rows[item.index];
              if (!row) return null;
              return (
                <div
                  key={item.key}
                  ref={list.measureElement}
                  data-index={item.index}
                  data-row={row.kind}
                  data-found={row.key === found || undefined}
                  className={css.row}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <div className={css.column}>
                    <RowView row={row} />
                  </div>
                </div>
              );
            })}
          </div>
        </div>
        {!isAtEnd && (
          <Button small className={css.toEnd} onClick={() => follow(true)}>
            <ArrowDown size={14} aria-hidden /> {news > 0 ? t.toEndNew(news) : t.toEnd}
          </Button>
        )}
      </div>
    </FoldsOf>
  );
}

/** How many rows have come since the one that was the last. */
function behind(rows: readonly Row[], key: string | null): number {
  if (key === null) return 0;
  for (let index = rows.length - 1; index >= 0; index -= 1) {
    if (rows[index]?.key === key) return rows.length - 1 - index;
  }
  return 0;
}
