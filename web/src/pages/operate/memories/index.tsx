// Long-term memories: found, added, changed, forgotten.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { usePages } from "../../../api/pages";
import { useWords } from "../../../i18n";
import {
  AddButton,
  Badge,
  ConfirmDialog,
  Empty,
  Input,
  JsonView,
  Listing,
  Menu,
  Page,
  RecordItem,
  records,
  Records,
  Select,
  Time,
  Unread,
} from "../../../ui";
import { MemoryDialog } from "./MemoryDialog";
import { words } from "./words";

type Memory = Schemas["Memory"];
type Owned = "own" | "shared";
type Open = { kind: "edit" | "remove"; memory: Memory } | { kind: "add" } | null;

const HITS_MAX = 20;

export default function MemoriesPage() {
  const t = useWords(words);
  const [asked, setAsked] = useState("");
  const [owned, setOwned] = useState<Owned>("own");
  const [open, setOpen] = useState<Open>(null);
  const client = useQueryClient();
  const query = useDeferredValue(asked.trim());
  const close = () => setOpen(null);
  const changed = async () => {
    await client.invalidateQueries({ queryKey: keys.memories() });
    close();
  };
  const add = <AddButton onClick={() => setOpen({ kind: "add" })}>{t.add}</AddButton>;
  return (
    <Page title={t.title} intro={t.intro} actions={add} narrow>
      <div className={records.bar}>
        <div className={records.grow}>
          <Input
            type="search"
            aria-label={t.search}
            placeholder={t.search}
            value={asked}
            onChange={(event) => setAsked(event.target.value)}
          />
        </div>
        {query === "" && (
          <div>
            <Select
              aria-label={t.whose}
              value={owned}
              onChange={(event) => setOwned(event.target.value as Owned)}
              choices={[
                { value: "own", label: t.own },
                { value: "shared", label: t.shared },
              ]}
            />
          </div>
        )}
      </div>
      {query === "" ? (
        <All key={owned} owned={owned} onOpen={setOpen} />
      ) : (
        <Found query={query} onOpen={setOpen} />
      )}
      {open !== null && open.kind !== "remove" && (
        <MemoryDialog
          memory={open.kind === "edit" ? open.memory : null}
          shared={open.kind === "add" && owned === "shared"}
          onSaved={changed}
          onClose={close}
        />
      )}
      {open?.kind === "remove" && (
        <ConfirmDialog
          title={t.removeTitle}
          confirm={t.remove}
          danger
          onConfirm={() => forget(open.memory.id).then(changed)}
          onClose={close}
        >
          <p className={records.text}>{open.memory.content}</p>
          <p>{t.removeHelp}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function forget(id: string): Promise<unknown> {
  return unwrap(api.DELETE("/api/v1/memories/{memory_id}", { params: { path: { memory_id: id } } }));
}

function All({ owned, onOpen }: { owned: Owned; onOpen: (open: Open) => void }) {
  const t = useWords(words);
  const list = usePages(keys.memories(owned), (cursor) =>
    unwrap(api.GET("/api/v1/memories", { params: { query: { owned, cursor } } })),
  );
  const empty =
    owned === "own" ? (
      <Empty title={t.emptyOwn}>{t.emptyOwnHelp}</Empty>
    ) : (
      <Empty title={t.emptyShared}>{t.emptySharedHelp}</Empty>
    );
  return (
    <Listing of={list} empty={empty}>
      {(items) => (
        <Records label={t.title}>
          {items.map((memory) => (
            <Item key={memory.id} memory={memory} onOpen={onOpen} />
          ))}
        </Records>
      )}
    </Listing>
  );
}

function Found({ query, onOpen }: { query: string; onOpen: (open: Open) => void }) {
  const t = useWords(words);
  const found = useQuery({
    queryKey: keys.memories("search", query),
    queryFn: () =>
      unwrap(api.GET("/api/v1/memories/search", { params: { query: { q: query, top_k: HITS_MAX } } })),
    placeholderData: keepPreviousData,
  });
  if (found.data === undefined) return <Unread of={found} />;
  if (found.data.results.length === 0) return <Empty title={t.nothingFound}>{t.nothingFoundHelp}</Empty>;
  return (
    <Records label={t.title}>
      {found.data.results.map((hit) => (
        <Item key={hit.id} memory={hit} score={hit.score} onOpen={onOpen} />
      ))}
    </Records>
  );
}

function Item(props: { memory: Memory; score?: number; onOpen: (open: Open) => void }) {
  const t = useWords(words);
  const me = useMe();
  const { memory, score, onOpen } = props;
  const mayChange = memory.user_id === me.user.id || me.user.role !== "member";
  const items = [
    { label: t.edit, icon: <Pencil size={15} />, onSelect: () => onOpen({ kind: "edit", memory }) },
    {
      label: t.remove,
      icon: <Trash2 size={15} />,
      danger: true,
      onSelect: () => onOpen({ kind: "remove", memory }),
    },
  ] as const;
  const hasMore = Object.keys(memory.metadata).length > 0;
  return (
    <RecordItem
      facts={
        <>
          <Time at={memory.created_at} />
          {memory.user_id === null && <Badge>{t.sharedBadge}</Badge>}
          {score !== undefined && <span>{t.score(Math.round(score * 100))}</span>}
        </>
      }
      actions={mayChange && <Menu label={t.actions} items={items} />}
      below={hasMore && <JsonView value={memory.metadata} open={0} label={t.metadata} />}
    >
      <p className={records.text}>{memory.content}</p>
    </RecordItem>
  );
}
