// What a chat has changed: in a worktree, to be looked through, applied or thrown away; without one,
// turn by turn.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { useSession } from "../../../session/useSession.ts";
import { Button, ConfirmDialog, Diff, Empty, Facts, Time, toast, Unread } from "../../../ui";
import type { Session } from "../list/sessions";
import css from "./side.module.css";
import { words } from "./words";

export function hasWorktree(session: Session): boolean {
  return [session.session_config, session.agent_config].some(
    (config) => (config as Record<string, unknown>)["worktree"] === true,
  );
}

export function Changes({ session }: { session: Session }) {
  const t = useWords(words);
  if (!hasWorktree(session)) return <Turns sessionId={session.id} />;
  if (session.state === "offline") return <p className={css.part}>{t.offline}</p>;
  return <Worktree session={session} />;
}

/** As its events told, of the turns that were read; the newest first. */
function Turns({ sessionId }: { sessionId: string }) {
  const t = useWords(words);
  const { view } = useSession(sessionId);
  const ends = view.rows.filter((row) => row.kind === "end" && row.files.some((file) => file.diff !== ""));
  if (ends.length === 0) return <Empty title={t.noChanges}>{t.noWorktreeHelp}</Empty>;
  return (
    <div className={css.part}>
      <p className={css.soft}>{t.byTurn}</p>
      {ends.toReversed().map((end) => (
        <section key={end.key} className={css.turn}>
          {end.ts !== null && <Time at={end.ts} />}
          {end.kind === "end" && end.files.map((file) => <Diff key={file.path} path={file.path} text={file.diff} />)}
        </section>
      ))}
    </div>
  );
}

function Worktree({ session }: { session: Session }) {
  const t = useWords(words);
  const path = { session_id: session.id };
  const queryKey = [...keys.session(session.id), "diff", session.last_turn?.ended_at];
  const found = useQuery({
    queryKey,
    queryFn: () => unwrap(api.GET("/api/v1/sessions/{session_id}/diff", { params: { path } })),
    placeholderData: (before) => before,
  });
  const { data } = found;
  if (data === undefined) return <Unread of={found} />;
  return (
    <div className={css.part}>
      <Facts
        of={[
          [t.branch, data.branch],
          [t.folder, data.repository],
        ]}
      />
      {data.files.length === 0 ? <p className={css.soft}>{t.noChanges}</p> : <Decide session={session} diff={data} />}
      {data.applied && <p className={css.soft}>{t.applied}</p>}
      {data.files.length > 0 && <Diff text={data.diff} folded={data.files.length > 3} />}
      {data.truncated && <p className={css.soft}>{t.cut}</p>}
    </div>
  );
}

function Decide({ session, diff }: { session: Session; diff: Schemas["SessionDiff"] }) {
  const t = useWords(words);
  const client = useQueryClient();
  const [asked, ask] = useState<"apply" | "discard" | null>(null);
  const params = { path: { session_id: session.id } };
  const readAgain = () => client.invalidateQueries({ queryKey: keys.session(session.id) });
  const apply = async () => {
    const { files } = await unwrap(api.POST("/api/v1/sessions/{session_id}/apply", { params }));
    toast(t.appliedNow(files.length));
    await readAgain();
  };
  const discard = async () => {
    await unwrap(api.POST("/api/v1/sessions/{session_id}/discard", { params }));
    await readAgain();
  };
  return (
    <div className={css.buttons}>
      {!diff.applied && (
        <Button small look="primary" onClick={() => ask("apply")}>
          {t.apply}
        </Button>
      )}
      <Button small onClick={() => ask("discard")}>
        {t.discard}
      </Button>
      {asked === "apply" && (
        <ConfirmDialog title={t.applyTitle} confirm={t.applyYes} onConfirm={apply} onClose={() => ask(null)}>
          <p>{t.applyHelp(diff.repository)}</p>
        </ConfirmDialog>
      )}
      {asked === "discard" && (
        <ConfirmDialog
          danger
          title={t.discardTitle}
          confirm={t.discardYes}
          onConfirm={discard}
          onClose={() => ask(null)}
        >
          <p>{t.discardHelp}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}
