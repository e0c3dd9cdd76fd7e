// The open sessions of a machine, and how one gets to another machine.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { useWords } from "../../i18n";
import { Button, Dialog, ErrorNote, Field, Section, Select, toast, Waiting } from "../../ui";
import css from "./machines.module.css";
import { machinesChanged, shownQuery } from "./queries";
import type { Machine } from "./shown";
import { words } from "./words";

type Session = Schemas["Session"];

const SHOWN_MAX = 200;

export function MachineSessions({ machine }: { machine: Machine }) {
  const t = useWords(words);
  const [moving, setMoving] = useState<Session | null>(null);
  const { data, error } = useQuery({
    queryKey: keys.sessions("machine", machine.id),
    queryFn: () => {
      const query = { machine_id: machine.id, status: "active" as const, limit: SHOWN_MAX };
      return unwrap(api.GET("/api/v1/sessions", { params: { query } }));
    },
  });
  const sessions = data?.items ?? [];
  return (
    <Section title={t.sessions}>
      {error !== null && <ErrorNote error={error} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && sessions.length === 0 && <p className={css.soft}>{t.noSessions}</p>}
      {sessions.length > 0 && (
        <ul className={css.sessions}>
          {sessions.map((session) => (
            <li key={session.id} className={css.session}>
              <Link to="/chat/$sessionId" params={{ sessionId: session.id }}>
                {session.title || t.untitled}
              </Link>
              <Button small aria-label={t.moveTitle(session.title || t.untitled)} onClick={() => setMoving(session)}>
                {t.move}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {data?.next_cursor != null && <p className={css.soft}>{t.onlyNewest(SHOWN_MAX)}</p>}
      {moving !== null && (
        <MoveSession session={moving} from={machine} onClose={() => setMoving(null)} />
      )}
    </Section>
  );
}

function MoveSession(props: { session: Session; from: Machine; onClose: () => void }) {
  const t = useWords(words);
  const { session, from, onClose } = props;
  const [chosen, setChosen] = useState<string | null>(null);
  const { data: machines } = useQuery(shownQuery);
  const targets = (machines ?? []).filter(
    (one) => one.id !== from.id && one.user_id === from.user_id && one.online && !one.draining,
  );
  const target = targets.find((one) => one.id === chosen) ?? targets[0];
  const moving = useMutation({
    mutationFn: async (machine: Machine) => {
      const params = { path: { session_id: session.id } };
      const body = { machine_id: machine.id };
      await unwrap(api.PATCH("/api/v1/sessions/{session_id}", { params, body }));
      await machinesChanged();
      return machine.name;
    },
    onSuccess: (name) => {
      toast(t.moved(name));
      onClose();
    },
  });
  return (
    <Dialog
      title={t.moveTitle(session.title || t.untitled)}
      onClose={onClose}
      onSubmit={() => target !== undefined && moving.mutate(target)}
      actions={
        <Button type="submit" look="primary" disabled={target === undefined || moving.isPending}>
          {t.move}
        </Button>
      }
    >
      <p>{t.moveHelp}</p>
      {machines !== undefined && targets.length === 0 && <p className={css.warn}>{t.moveNowhere}</p>}
      {target !== undefined && (
        <Field label={t.moveTo}>
          <Select
            choices={targets.map((one) => ({ value: one.id, label: one.name }))}
            value={target.id}
            onChange={(event) => setChosen(event.target.value)}
          />
        </Field>
      )}
      {moving.error !== null && <ErrorNote error={moving.error} />}
    </Dialog>
  );
}
