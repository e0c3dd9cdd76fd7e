// Skills that agents propose: what each would change, and the decision.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { usePages } from "../../../api/pages";
import { useWords } from "../../../i18n";
import {
  Badge,
  Button,
  Diff,
  Empty,
  ErrorNote,
  Listing,
  RecordItem,
  Records,
  records,
  Select,
  Time,
  type Tone,
  Unread,
} from "../../../ui";
import { Inline } from "../../../ui/Inline";
import css from "./skills.module.css";
import { words } from "./words";

type State = Schemas["Evolution"]["state"];

const TONES: Record<State, Tone> = { pending: "warn", approved: "good", rejected: "neutral" };

export function Proposals() {
  const t = useWords(words);
  const [state, setState] = useState<State | "every">("pending");
  const list = usePages([...keys.evolutions(), state], (cursor) =>
    unwrap(
      api.GET("/api/v1/evolutions", {
        params: { query: { cursor, ...(state !== "every" && { state }) } },
      }),
    ),
  );
  const choices = (["pending", "approved", "rejected", "every"] as const).map((value) => ({
    value,
    label: t[value],
  }));
  return (
    <div className={css.place}>
      <div className={records.bar}>
        <div>
          <Select
            aria-label={t.state}
            value={state}
            choices={choices}
            onChange={(event) => setState(event.target.value as State | "every")}
          />
        </div>
      </div>
      <Listing
        of={list}
        empty={
          <Empty title={t.emptyProposed}>
            <Inline text={t.emptyProposedHelp} />
          </Empty>
        }
      >
        {(items) => (
          <Records label={t.tabProposed}>
            {items.map((one) => (
              <Proposal key={one.id} of={one} />
            ))}
          </Records>
        )}
      </Listing>
    </div>
  );
}

function Proposal({ of }: { of: Schemas["Evolution"] }) {
  const t = useWords(words);
  const [isOpen, setOpen] = useState(false);
  return (
    <RecordItem
      title={
        <>
          {of.name}
          <Badge tone={TONES[of.state]}>{t[of.state]}</Badge>
        </>
      }
      facts={
        <>
          <Time at={of.created_at} />
          <span>{t.quality(Math.round(of.quality_score * 100))}</span>
          {of.session_id && (
            <Link to="/chat/$sessionId" params={{ sessionId: of.session_id }}>
              {t.fromSession}
            </Link>
          )}
        </>
      }
      actions={
        <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {t.show}
        </Button>
      }
      below={isOpen && <Detail id={of.id} />}
    >
      <p className={records.soft}>{of.description}</p>
    </RecordItem>
  );
}

function Detail({ id }: { id: string }) {
  const t = useWords(words);
  const isAdmin = useMe().user.role !== "member";
  const detail = useQuery({
    queryKey: [...keys.evolutions(), "one", id],
    queryFn: () =>
      unwrap(api.GET("/api/v1/evolutions/{evolution_id}", { params: { path: { evolution_id: id } } })),
  });
  if (detail.data === undefined) return <Unread of={detail} />;
  const { changes, state, skill_id: skillId } = detail.data;
  return (
    <div className={css.place}>
      <p className={records.soft}>
        {changes.against ? `${t.against(changes.against.version)}. ${t.onlyOneFile}` : t.newSkill}
      </p>
      <Diff text={changes.diff} />
      {state === "pending" && isAdmin && <Decision id={id} />}
      {state === "approved" && (
        <p>
          {t.isApproved}{" "}
          <Link to="/skills/$skillId" params={{ skillId }}>
            {t.toSkill}
          </Link>
        </p>
      )}
      {state === "rejected" && <p>{t.isRejected}</p>}
    </div>
  );
}

function Decision({ id }: { id: string }) {
  const t = useWords(words);
  const client = useQueryClient();
  const params = { path: { evolution_id: id } };
  const deciding = useMutation({
    mutationFn: (isApproved: boolean) =>
      unwrap(
        isApproved
          ? api.POST("/api/v1/evolutions/{evolution_id}/approve", { params })
          : api.POST("/api/v1/evolutions/{evolution_id}/reject", { params }),
      ),
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: keys.evolutions() }),
        client.invalidateQueries({ queryKey: keys.skills() }),
      ]),
  });
  return (
    <>
      {deciding.error && <ErrorNote error={deciding.error} />}
      <div className={records.bar}>
        <Button look="primary" disabled={deciding.isPending} onClick={() => deciding.mutate(true)}>
          {t.approve}
        </Button>
        <Button disabled={deciding.isPending} onClick={() => deciding.mutate(false)}>
          {t.reject}
        </Button>
      </div>
    </>
  );
}
