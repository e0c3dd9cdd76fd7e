// The chats at the side: found by text, filtered by what they do, the newest first.
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Search, X } from "lucide-react";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { machinesQuery } from "../../../api/names";
import { remember, remembered } from "../../../app/memory";
import { useWords } from "../../../i18n";
import { Empty, ErrorNote, IconButton, Input, Waiting } from "../../../ui";
import { isComposing } from "../../../ui/composing.ts";
import { NewChat } from "../start/NewChat";
import { words } from "../words";
import { Hits } from "./Hits";
import css from "./list.module.css";
import { SessionRow } from "./SessionRow";
import { useSessions, type Filter, type Session } from "./sessions";

const ROW_PX = 50;
const AHEAD = 10;
const FILTER = "chat.filter";

export function ChatList({ openId }: { openId: string | null }) {
  const t = useWords(words);
  const [wanted, setWanted] = useState("");
  const [filter, setFilter] = useState<Filter>(() => filterOf(remembered(FILTER)));
  const settled = useSettled(wanted);
  const names: Record<Filter, string> = {
    open: t.filterOpen,
    needs: t.filterNeeds,
    running: t.filterRunning,
    archived: t.filterArchived,
    closed: t.filterClosed,
  };
  const choose = (chosen: Filter) => {
    remember(FILTER, chosen);
    setFilter(chosen);
  };
  return (
    <aside className={css.list} aria-label={t.chats}>
      <div className={css.top}>
        <div className={css.row}>
          <h1>{t.chats}</h1>
          <NewChat />
        </div>
        <div className={css.search} role="search">
          <Search size={14} aria-hidden className={css.glass} />
          <Input
            type="text"
            aria-label={t.search}
            placeholder={t.searchHint}
            value={wanted}
            maxLength={200}
            onChange={(event) => setWanted(event.target.value)}
            onKeyDown={(event) => event.key === "Escape" && !isComposing(event.nativeEvent) && setWanted("")}
          />
          {wanted !== "" && (
            <IconButton label={t.clearSearch} onClick={() => setWanted("")}>
              <X size={14} />
            </IconButton>
          )}
        </div>
        {settled === "" && (
          <div className={css.filters} role="group" aria-label={t.show}>
            {(Object.keys(names) as Filter[]).map((one) => (
              <button
                key={one}
                type="button"
                className={css.filter}
                aria-pressed={one === filter}
                onClick={() => choose(one)}
              >
                {names[one]}
              </button>
            ))}
          </div>
        )}
      </div>
      {settled === "" ? (
        <Sessions key={filter} filter={filter} openId={openId} />
      ) : (
        <div className={css.scroll}>
          <Hits wanted={settled} openId={openId} />
        </div>
      )}
    </aside>
  );
}

function filterOf(kept: string | null): Filter {
  return kept === "needs" || kept === "running" || kept === "archived" || kept === "closed" ? kept : "open";
}

/** What was typed, when nobody has typed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value.trim()), value.trim() === "" ? 0 : 200);
    return () => clearTimeout(timer);
  }, [value]);
  return useDeferredValue(settled);
}

function Sessions({ filter, openId }: { filter: Filter; openId: string | null }) {
  const t = useWords(words);
  const { items, data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useSessions(filter);
  if (data === undefined && error !== null) {
    return <ErrorNote error={error} retry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  if (items.length === 0) {
    const isAll = filter === "open";
    return <Empty title={isAll ? t.none : t.noneHere}>{isAll ? t.noneHelp : t.noneHereHelp}</Empty>;
  }
  return (
    <Rows
      items={items}
      openId={openId}
      isMore={hasNextPage}
      more={() => {
        if (!isFetchingNextPage) void fetchNextPage();
      }}
    />
  );
}

function Rows(props: { items: Session[]; openId: string | null; isMore: boolean; more: () => void }) {
  const t = useWords(words);
  const { items, isMore, more } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const { data: machines } = useQuery(machinesQuery);
  const names = useMemo(
    () => new Map(machines?.map((machine) => [machine.id, machine.name])),
    [machines],
  );
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => items[at]?.id ?? at,
    overscan: AHEAD,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (isMore && last >= items.length - AHEAD) more();
  });
  return (
    <div className={css.scroll} ref={scroll}>
      <ul className={css.items} style={{ height: virtual.getTotalSize() }}>
        {shown.map((row) => {
          const session = items[row.index];
          if (session === undefined) return null;
          const place = names.size > 1 ? (names.get(session.machine_id ?? "") ?? null) : null;
          return (
            <li
              key={row.key}
              ref={virtual.measureElement}
              data-index={row.index}
              className={css.item}
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <SessionRow session={session} isOpen={session.id === props.openId} place={place} />
            </li>
          );
        })}
      </ul>
      {isMore && <p className={css.note}>{t.more}</p>}
    </div>
  );
}
