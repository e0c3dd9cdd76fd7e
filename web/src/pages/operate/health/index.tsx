// How the server does: live figures, the last minute, and how it was set up. For its admins.
import { useQuery } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { ErrorNote, Facts, Page, Section, Table, Unread, Waiting } from "../../../ui";
import { Chart } from "../shared/Chart";
import { Figures, type Figure } from "../shared/Figures";
import { usePhrase } from "../../../ui/said";
import { bytes, compact, count, duration } from "../../../ui/numbers";
import css from "../shared/shared.module.css";
import own from "./health.module.css";
import { words } from "./words";

type Health = Schemas["SystemHealth"];

const EVERY_MS = 2_000;
const COMMIT_SLOW_MS = 250;
const LAG_SLOW_MS = 100;

export default function HealthPage() {
  const t = useWords(words);
  const health = useQuery({
    queryKey: keys.health(),
    queryFn: () => unwrap(api.GET("/api/v1/health")),
    refetchInterval: EVERY_MS,
    staleTime: 0,
  });
  if (health.data === undefined) {
    return (
      <Page title={t.title} intro={t.intro}>
        {health.error === null ? (
          <Waiting />
        ) : (
          <ErrorNote error={health.error} retry={() => void health.refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page title={t.title} intro={t.intro}>
      {health.error !== null && <ErrorNote error={health.error} />}
      <Problems of={health.data} />
      <Now of={health.data} />
      <LastMinute of={health.data} />
      <Server />
    </Page>
  );
}

function Problems({ of }: { of: Health }) {
  const t = useWords(words);
  const found = [of.problem, of.is_log_stalled ? t.stalled : null, of.is_audit_broken ? t.auditBroken : null];
  return found.map((problem, at) =>
    problem === null ? null : (
      <p key={at} role="alert" className={css.broken}>
        {problem}
      </p>
    ),
  );
}

function Now({ of }: { of: Health }) {
  const t = useWords(words);
  const language = useLanguage();
  const last = of.recent.at(-1);
  const isWell = of.problem === null && !of.is_audit_broken;
  const free = of.disk.total_bytes === 0 ? 1 : of.disk.free_bytes / of.disk.total_bytes;
  const share = new Intl.NumberFormat(language, { style: "percent" }).format(free);
  const commits = of.recent.flatMap((one) => (one.commit_ms === null ? [] : [one.commit_ms]));
  const commit = commits.length === 0 ? null : Math.max(...commits);
  const lag = Math.max(0, ...of.recent.map((one) => one.loop_lag_ms));
  const figures: Figure[] = [
    { name: t.state, value: isWell ? t.well : t.unwell, tone: isWell ? "good" : "fail" },
    {
      name: t.events,
      value: count(last?.events_per_s ?? 0, language),
      note: t.eventsNote(compact(of.events_total, language)),
    },
    {
      name: t.commit,
      value: commit === null ? t.noCommit : t.ms(count(commit, language)),
      note: t.commitNote,
      tone: (commit ?? 0) > COMMIT_SLOW_MS ? "warn" : "neutral",
    },
    {
      name: t.lag,
      value: t.ms(count(lag, language)),
      note: t.lagNote,
      tone: lag > LAG_SLOW_MS ? "warn" : "neutral",
    },
    {
      name: t.disk,
      value: bytes(of.disk.free_bytes, language),
      note: t.diskNote(share),
      tone: of.disk.is_low ? "warn" : "neutral",
    },
    {
      name: t.stalls,
      value: count(of.log_stalls, language),
      note: t.stallsNote,
      tone: of.log_stalls > 0 ? "warn" : "neutral",
    },
    {
      name: t.lost,
      value: count(of.events_lost, language),
      note: t.lostNote,
      tone: of.events_lost > 0 ? "warn" : "neutral",
    },
    {
      name: t.machines,
      value: count(of.machines_online, language),
      note: of.machine_reconnections > 0 ? t.machinesNote(count(of.machine_reconnections, language)) : null,
    },
    {
      name: t.sessions,
      value: count(of.sessions_running, language),
      note: t.sessionsNote(count(of.sessions_held, language)),
    },
    {
      name: t.readers,
      value: count(of.readers, language),
      note:
        of.readers_cut > 0
          ? t.readersCut(count(of.readers_cut, language))
          : t.readersNote(count(of.streams, language)),
    },
    { name: t.connections, value: count(of.connections, language) },
    { name: t.uptime, value: duration(of.now - of.started_at, language) },
  ];
  return <Figures label={t.figures} of={figures} />;
}

function LastMinute({ of }: { of: Health }) {
  const t = useWords(words);
  const language = useLanguage();
  const times = of.recent.map((one) => one.at / 1000);
  const clock = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString(language);
  if (of.recent.length < 2) return null;
  return (
    <Section title={t.lastMinute}>
      <div className={own.charts}>
        <div>
          <h3>{t.events}</h3>
          <Chart
            kind="line"
            height={140}
            label={t.chartEvents}
            times={times}
            lines={[{ name: t.events, values: of.recent.map((one) => one.events_per_s) }]}
            format={(value) => compact(value, language)}
            formatTime={clock}
          />
        </div>
        <div>
          <h3>{t.commit}</h3>
          <Chart
            kind="line"
            height={140}
            label={t.chartCommit}
            times={times}
            lines={[{ name: t.commit, values: of.recent.map((one) => one.commit_ms) }]}
            format={(value) => t.ms(compact(value, language))}
            formatTime={clock}
          />
        </div>
      </div>
    </Section>
  );
}

function Server() {
  const t = useWords(words);
  const language = useLanguage();
  const phrase = usePhrase();
  const server = useQuery({ queryKey: keys.server(), queryFn: () => unwrap(api.GET("/api/v1/server")) });
  if (server.data === undefined) return <Unread of={server} />;
  const { data } = server;
  const search = data.memory_search;
  const waiting = search.pending > 0 ? ` · ${t.memoryWaiting(count(search.pending, language))}` : "";
  return (
    <Section title={t.server}>
      <Facts
        of={[
          [t.version, data.version],
          [t.address, data.url],
          [t.database, phrase(data.database)],
          [t.data, <code key="data">{data.data}</code>],
          [t.process, data.pid],
          [t.memory, phrase(search.problem ?? search.model ?? t.memoryNone) + (search.problem === null ? waiting : "")],
          [t.keys, data.providers.join(", ") || t.keysNone],
        ]}
      />
      <details>
        <summary>{t.settings}</summary>
        <Table
          label={t.settings}
          rows={Object.entries(data.settings)}
          rowKey={([name]) => name}
          columns={[
            { head: t.setting, cell: ([name]) => <code>{name}</code> },
            { head: t.value, cell: ([, value]) => <code>{typeof value === "string" ? value : JSON.stringify(value)}</code> },
          ]}
        />
      </details>
    </Section>
  );
}
