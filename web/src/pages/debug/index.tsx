// A session's events as the machine sent them, as the log has them, and as each client gets them.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { sessionQuery } from "../../api/session";
import { remember, remembered } from "../../app/memory";
import { setPageTitle } from "../../app/title";
import { useWords } from "../../i18n";
import { useLanguage } from "../../i18n/language";
import {
  Button,
  buttonClass,
  Checkbox,
  Empty,
  ErrorNote,
  IconButton,
  Input,
  Select,
  Switch,
  Waiting,
} from "../../ui";
import { count } from "../../ui/numbers";
import { COLUMNS, jsonLines, matches, typesOf, type Column, type DebugEvent } from "./columns.ts";
import css from "./debug.module.css";
import { Rows } from "./Rows.tsx";
import { useDebug, useFrameCounter } from "./useDebug.ts";
import { words } from "./words.ts";

const KEY = "debug.columns";
const FIRST_SHOWN: readonly Column[] = ["raw", "log", "myagent", "yeaft"];

export default function DebugPage() {
  const { sessionId = "" } = useParams({ strict: false });
  return <SessionDebug key={sessionId} sessionId={sessionId} />;
}

function SessionDebug({ sessionId }: { sessionId: string }) {
  const t = useWords(words);
  const [isLive, setLive] = useState(true);
  const [type, setType] = useState("");
  const [text, setText] = useState("");
  const [columns, setColumns] = useColumns();
  const debug = useDebug(sessionId, isLive);
  const session = useQuery(sessionQuery(sessionId));
  const title = session.data?.title ? t.titleOf(session.data.title) : t.title;
  useEffect(() => setPageTitle(title), [title]);
  const shown = useMemo(
    () => debug.events.filter((event) => matches(event, { type, text, columns })),
    [debug.events, type, text, columns],
  );
  const types = [{ value: "", label: t.allTypes }, ...typesOf(debug.events).map(choice)];
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>{title}</h1>
        <FrameCount sessionId={sessionId} />
        <Link to="/chat/$sessionId" params={{ sessionId }} className={buttonClass("plain", true)}>
          {t.back}
        </Link>
      </header>
      <div className={css.bar} role="search">
        <Select aria-label={t.type} choices={types} value={type} onChange={(event) => setType(event.target.value)} />
        <Input
          type="search"
          className={css.filter}
          aria-label={t.filter}
          placeholder={t.filter}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Switch label={t.live} checked={isLive} onChange={setLive} />
        <fieldset className={css.columns}>
          <legend className="visually-hidden">{t.shown}</legend>
          {COLUMNS.map((column) => (
            <Checkbox
              key={column}
              label={t[column]}
              checked={columns.includes(column)}
              onChange={(isOn) => setColumns(COLUMNS.filter((one) => (one === column ? isOn : columns.includes(one))))}
            />
          ))}
        </fieldset>
        <span className={css.soft} role="status">
          {t.matching(shown.length, debug.events.length)}
        </span>
        <IconButton
          label={t.download}
          disabled={shown.length === 0}
          onClick={() => download(`${sessionId}.jsonl`, jsonLines(shown, columns))}
        >
          <Download size={16} />
        </IconButton>
      </div>
      {columns.includes("raw") && shown.length > 0 && shown.every((event) => !event.raw) && (
        <p className={css.hint}>{t.unknownHelp}</p>
      )}
      {debug.error !== null && <ErrorNote error={debug.error} retry={debug.retry} />}
      <Body debug={debug} shown={shown} columns={columns} />
    </div>
  );
}

function Body(props: {
  debug: ReturnType<typeof useDebug>;
  shown: readonly DebugEvent[];
  columns: readonly Column[];
}) {
  const { debug, shown } = props;
  const t = useWords(words);
  if (debug.isLoading) return <Waiting />;
  if (debug.events.length === 0) {
    return debug.error === null ? <Empty title={t.empty}>{t.emptyHelp}</Empty> : null;
  }
  const top = !debug.isAtStart && (
    <div className={css.older}>
      <Button small onClick={debug.loadOlder}>
        {t.older}
      </Button>
    </div>
  );
  if (shown.length === 0) {
    return (
      <Empty title={t.none} action={top}>
        {t.noneHelp}
      </Empty>
    );
  }
  return <Rows events={shown} columns={props.columns} top={top} />;
}

function FrameCount({ sessionId }: { sessionId: string }) {
  const t = useWords(words);
  const { frames, rate, bytes } = useFrameCounter(sessionId);
  const size = t.bytes(count(bytes, useLanguage()));
  return (
    <span className={css.counter} title={t.counter}>
      {t.counted(frames, rate, size)}
    </span>
  );
}

function choice(value: string) {
  return { value, label: value };
}

function useColumns(): [readonly Column[], (columns: readonly Column[]) => void] {
  const [columns, setColumns] = useState<readonly Column[]>(() => {
    const kept = remembered(KEY)?.split(",");
    return kept === undefined ? FIRST_SHOWN : COLUMNS.filter((one) => kept.includes(one));
  });
  const choose = (next: readonly Column[]) => {
    remember(KEY, next.join(","));
    setColumns(next);
  };
  return [columns, choose];
}

function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
