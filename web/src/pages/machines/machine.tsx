// One machine, whole.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { ApiError } from "../../api/client";
import { useMe } from "../../api/me";
import { useWords } from "../../i18n";
import { useLanguage } from "../../i18n/language";
import {
  Badge,
  Copy,
  Empty,
  ErrorNote,
  Facts,
  Page,
  Section,
  Table,
  Time,
  Waiting,
  type Column,
} from "../../ui";
import { useFenceWords, usePhrase } from "../../ui/said";
import { MachineMenu } from "./actions";
import css from "./machines.module.css";
import { MachineSessions } from "./MachineSessions";
import { Owner } from "./Owner";
import { machineQuery } from "./queries";
import { useFeatureName } from "../features";
import { kindOf, loadOf, StateBadges, type Machine } from "./shown";
import { words } from "./words";

export default function MachinePage() {
  const t = useWords(words);
  const { machineId } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(machineQuery(machineId ?? ""));
  const back = (
    <Link to="/machines" className={css.waiting}>
      <ArrowLeft size={16} aria-hidden />
      {t.back}
    </Link>
  );
  if (error instanceof ApiError && error.status === 404)
    return (
      <Page title={t.title} actions={back}>
        <Empty title={t.notFound} />
      </Page>
    );
  return (
    <Page
      title={data?.name ?? t.title}
      actions={
        <>
          {back}
          {data !== undefined && <MachineMenu machine={data} leaves />}
        </>
      }
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && <Whole machine={data} />}
    </Page>
  );
}

function Whole({ machine }: { machine: Machine }) {
  const t = useWords(words);
  const me = useMe();
  const load = loadOf(machine, t, useLanguage());
  const featureName = useFeatureName();
  const phrase = usePhrase();
  return (
    <>
      <div className={css.badges}>
        <StateBadges machine={machine} />
        <span className={css.soft}>{kindOf(machine, t)}</span>
      </div>
      <Facts
        of={[
          machine.detail === null ? null : [t.detail, <span className={css.warn}>{phrase(machine.detail)}</span>],
          machine.online ? null : [t.lastSeen, <Time at={machine.last_seen_at} />],
          load.length === 0 ? null : [t.load, load.join(" · ")],
          machine.kind === "vm" ? [t.fence, <FenceWords machine={machine} />] : null,
          machine.provider === "local" ? [t.state, t.startedHere] : null,
          machine.user_id === me.user.id ? null : [t.owner, <Owner machine={machine} />],
          [t.added, <Time at={machine.created_at} />],
          [
            t.id,
            <span className={css.waiting}>
              <code>{machine.id}</code>
              <Copy text={machine.id} what={t.id} />
            </span>,
          ],
          machine.capabilities.length === 0 ? null : [t.capabilities, machine.capabilities.join(", ")],
        ]}
      />
      {!machine.online && Object.keys(machine.without_line).length > 0 && (
        <Section title={t.degraded}>
          <p className={css.soft}>{t.degradedIntro}</p>
          <Facts
            of={Object.entries(machine.without_line).map(
              ([feature, said]) => [featureName(feature), phrase(said)] as const,
            )}
          />
        </Section>
      )}
      <MachineSessions machine={machine} />
      {machine.kind === "vm" && <Runtimes machine={machine} />}
    </>
  );
}

function FenceWords({ machine }: { machine: Machine }) {
  const t = useWords(words);
  const fenceWords = useFenceWords();
  if (machine.fence === null) return <span className={css.soft}>{t.fenceUnknown}</span>;
  return (
    <span>
      {machine.fence.in_force ? t.fenced : <Badge tone="warn">{t.fenceOff}</Badge>}
      <span className={css.words}>{fenceWords(machine.fence.words)}</span>
    </span>
  );
}

type Runtime = NonNullable<Machine["runtimes"]>[string];
type Named = { name: string; runtime: Runtime };

/** Runtimes, and below one that has several programs, these. */
function named(runtimes: Record<string, Runtime>, prefix = ""): Named[] {
  return Object.entries(runtimes).flatMap(([name, runtime]) => [
    { name: prefix + name, runtime },
    ...named(runtime.presets ?? {}, `${prefix + name} · `),
  ]);
}

function Runtimes({ machine }: { machine: Machine }) {
  const t = useWords(words);
  const rows = named(machine.runtimes ?? {});
  const columns: Column<Named>[] = [
    { head: t.runtime, cell: (row) => row.name },
    { head: t.version, cell: (row) => row.runtime.version ?? "" },
    { head: t.state, cell: (row) => <Usable runtime={row.runtime} /> },
  ];
  return (
    <Section title={t.runtimes}>
      {rows.length === 0 ? (
        <p className={css.soft}>{t.noRuntimes}</p>
      ) : (
        <Table label={t.runtimes} columns={columns} rows={rows} rowKey={(row) => row.name} />
      )}
    </Section>
  );
}

function Usable({ runtime }: { runtime: Runtime }) {
  const t = useWords(words);
  const phrase = usePhrase();
  if (runtime.usable) return <Badge tone="good">{t.usable}</Badge>;
  return (
    <div className={css.problem}>
      <span>
        <Badge>{t.notUsable}</Badge> {phrase(runtime.reason ?? "")}
      </span>
      {runtime.install !== null && (
        <span className={css.install}>
          <code>{runtime.install}</code>
          <Copy text={runtime.install} what={t.install} />
        </span>
      )}
    </div>
  );
}
