// Conversations that other programs have on a machine, to go on with here.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { Badge, Button, Empty, ErrorNote, Field, Select, Time, Unread } from "../../../ui";
import type { Machine } from "./machines";
import { useMake } from "./make";
import css from "./start.module.css";
import { words } from "./words";

type Foreign = Schemas["ForeignSession"];

export function Adopt({ machines, onDone }: { machines: Machine[]; onDone: () => void }) {
  const t = useWords(words);
  const online = machines.filter((machine) => machine.online);
  const [chosen, choose] = useState("");
  const machineId = chosen || (online[0]?.id ?? "");
  return (
    <div className={css.adopt}>
      <p className={css.help}>{t.adoptHelp}</p>
      <Field label={t.machine}>
        <Select
          value={machineId}
          choices={online.map((machine) => ({ value: machine.id, label: machine.name }))}
          onChange={(event) => choose(event.target.value)}
        />
      </Field>
      {machineId !== "" && <Conversations key={machineId} machineId={machineId} onDone={onDone} />}
    </div>
  );
}

function Conversations({ machineId, onDone }: { machineId: string; onDone: () => void }) {
  const t = useWords(words);
  const found = useInfiniteQuery({
    queryKey: [...keys.machine(machineId), "foreign"],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/api/v1/machines/{machine_id}/foreign-sessions", {
          params: { path: { machine_id: machineId }, query: pageParam === null ? {} : { cursor: pageParam } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = found;
  if (data === undefined) return <Unread of={found} />;
  const items = data.pages.flatMap((page) => page.items);
  if (items.length === 0) return <Empty title={t.adoptNone}>{t.adoptNoneHelp}</Empty>;
  return (
    <>
      <ul className={css.foreign}>
        {items.map((one) => (
          <One key={`${one.runtime} ${one.preset} ${one.id}`} one={one} machineId={machineId} onDone={onDone} />
        ))}
      </ul>
      {hasNextPage && (
        <Button small disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t.adoptMore}
        </Button>
      )}
    </>
  );
}

function One({ one, machineId, onDone }: { one: Foreign; machineId: string; onDone: () => void }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const make = useMake();
  const adopt = { runtime: one.runtime, id: one.id, ...(one.preset && { preset: one.preset }) };
  const go = () => {
    if (one.session_id !== null) {
      onDone();
      void navigate({ to: "/chat/$sessionId", params: { sessionId: one.session_id } });
    } else make.mutate({ machine_id: machineId, adopt }, { onSuccess: onDone });
  };
  return (
    <li className={css.one}>
      <div className={css.about}>
        <span className={css.name}>{one.title || t.unnamed}</span>
        <span className={css.help}>
          <Badge>{one.preset || one.runtime}</Badge> {one.folder} · <Time at={one.updated_at || one.started_at} />
        </span>
        {make.error !== null && <ErrorNote error={make.error} />}
      </div>
      <Button small disabled={make.isPending} onClick={go}>
        {one.session_id === null ? t.adoptThis : t.adoptOpen}
      </Button>
    </li>
  );
}
