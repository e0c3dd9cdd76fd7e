// The audit log: found by who, what, when and words, and checked.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import {
  Badge,
  Button,
  type Column,
  Empty,
  Field,
  Input,
  JsonView,
  Page,
  Select,
  Table,
  Unread,
} from "../../../ui";
import { usersQuery, useUserNames } from "../../../api/names";
import css from "../shared/shared.module.css";
import own from "./audit.module.css";
import { asked, EVERYTHING, type Filter } from "./filter";
import { VerifyDialog } from "./Verify";
import { words } from "./words";

type Entry = Schemas["AuditEntry"];

const PAGE = 50;
const KINDS = ["approval.", "login.", "login_link.", "machine.", "session.", "token.", "user."];

export default function AuditPage() {
  const t = useWords(words);
  const isAdmin = useMe().user.role !== "member";
  const [filter, setFilter] = useState(EVERYTHING);
  const [isVerifying, setVerifying] = useState(false);
  return (
    <Page
      title={t.title}
      intro={t.intro}
      actions={isAdmin && <Button onClick={() => setVerifying(true)}>{t.verify}</Button>}
    >
      <Filters filter={filter} onChange={setFilter} isAdmin={isAdmin} />
      <Entries filter={useDeferredValue(filter)} onClear={() => setFilter(EVERYTHING)} />
      {isVerifying && <VerifyDialog onClose={() => setVerifying(false)} />}
    </Page>
  );
}

function Filters(props: { filter: Filter; onChange: (next: Filter) => void; isAdmin: boolean }) {
  const t = useWords(words);
  const { filter } = props;
  const users = useQuery({ ...usersQuery, enabled: props.isAdmin }).data ?? [];
  const set = (change: Partial<Filter>) => props.onChange({ ...filter, ...change });
  const people = users.map((user) => ({ value: user.id, label: user.name }));
  return (
    <search className={css.filters}>
      <Field label={t.text}>
        <Input
          type="search"
          placeholder={t.textHint}
          maxLength={200}
          value={filter.q}
          onChange={(event) => set({ q: event.target.value })}
        />
      </Field>
      {props.isAdmin && (
        <Field label={t.who}>
          <Select
            choices={[{ value: "", label: t.anyone }, ...people]}
            value={filter.user}
            onChange={(event) => set({ user: event.target.value })}
          />
        </Field>
      )}
      <Field label={t.what}>
        <Input
          list="audit-kinds"
          placeholder="token."
          maxLength={200}
          value={filter.event}
          onChange={(event) => set({ event: event.target.value })}
        />
      </Field>
      <datalist id="audit-kinds">
        {KINDS.map((kind) => (
          <option key={kind} value={kind} />
        ))}
      </datalist>
      <Field label={t.source}>
        <Select
          choices={[
            { value: "", label: t.anySource },
            { value: "control", label: t.control },
            { value: "machine", label: t.machine },
          ]}
          value={filter.source}
          onChange={(event) => set({ source: event.target.value })}
        />
      </Field>
      <Field label={t.from}>
        <Input type="date" value={filter.from} onChange={(event) => set({ from: event.target.value })} />
      </Field>
      <Field label={t.to}>
        <Input type="date" value={filter.to} onChange={(event) => set({ to: event.target.value })} />
      </Field>
    </search>
  );
}

function Entries({ filter, onClear }: { filter: Filter; onClear: () => void }) {
  const t = useWords(words);
  const wanted = asked(filter);
  const found = useInfiniteQuery({
    queryKey: keys.audit(wanted),
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/api/v1/audit", { params: { query: { ...wanted, limit: PAGE, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: (before) => before,
  });
  const columns = useColumns();
  if (found.data === undefined) return <Unread of={found} />;
  const rows = found.data.pages.flatMap((page) => page.items);
  if (rows.length === 0 && Object.keys(wanted).length === 0) return <Empty title={t.none}>{t.noneHelp}</Empty>;
  if (rows.length === 0) {
    return (
      <Empty title={t.noneFits} action={<Button onClick={onClear}>{t.clear}</Button>}>
        {t.noneFitsHelp}
      </Empty>
    );
  }
  return (
    <div aria-busy={found.isPlaceholderData}>
      <Table stacks label={t.entries} columns={columns} rows={rows} rowKey={(row) => String(row.seq)} />
      {found.hasNextPage && (
        <p className={own.more}>
          <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {t.more}
          </Button>
        </p>
      )}
    </div>
  );
}

function useColumns(): Column<Entry>[] {
  const t = useWords(words);
  const language = useLanguage();
  const names = useUserNames();
  return [
    { head: t.number, cell: (row) => row.seq },
    {
      head: t.when,
      cell: (row) => (
        <time className={own.when} dateTime={new Date(row.at).toISOString()}>
          {new Date(row.at).toLocaleString(language)}
        </time>
      ),
    },
    {
      head: t.who,
      cell: (row) =>
        row.user_id === null ? t.nobody : (names.get(row.user_id) ?? <code>{row.user_id.slice(0, 8)}</code>),
    },
    {
      head: t.what,
      cell: (row) => (
        <span className={css.row}>
          <code>{row.event}</code>
          {row.source === "machine" && <Badge>{t.machine}</Badge>}
        </span>
      ),
    },
    {
      head: t.session,
      cell: (row) =>
        row.session_id !== null && (
          <Link to="/chat/$sessionId" params={{ sessionId: row.session_id }}>
            {row.session_id.slice(0, 8)}
          </Link>
        ),
    },
    { head: t.details, cell: (row) => <Details of={row.details} /> },
  ];
}

/** One line, and all of it when it is opened. */
function Details({ of }: { of: Record<string, unknown> }) {
  const [isOpen, setOpen] = useState(false);
  const names = Object.keys(of);
  if (names.length === 0) return null;
  const line = names.map((name) => `${name}: ${shown(of[name])}`).join(" · ");
  return (
    <details className={own.details} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{line.slice(0, 200)}</summary>
      {isOpen && <JsonView value={of} copy />}
    </details>
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
