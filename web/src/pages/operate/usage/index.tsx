// What models were used and what it cost: a picture by day, and the figures to read.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { buttonClass, Empty, ErrorNote, Field, Page, Section, Select, Table, Waiting } from "../../../ui";
import { Inline } from "../../../ui/Inline";
import { Chart } from "../shared/Chart";
import { Figures } from "../shared/Figures";
import { useNames, type Names } from "../../../api/names";
import { compact, count, duration, money } from "../../../ui/numbers";
import css from "../shared/shared.module.css";
import {
  amount,
  daysFrom,
  firstDay,
  parts,
  perDay,
  secondsOf,
  totalOf,
  type Measure,
  type Total,
} from "./figures";
import { Quotas } from "./Quotas";
import { words } from "./words";

type By = "model" | "user" | "machine" | "agent";
type Sum = Schemas["UsageSum"];
type Chosen = { by: By; days: number; measure: Measure };

const SPANS = [7, 30, 90, 365];

export default function UsagePage() {
  const t = useWords(words);
  const [chosen, setChosen] = useState<Chosen>({ by: "model", days: 30, measure: "cost" });
  const since = firstDay(Date.now(), chosen.days);
  const asked = { group_by: chosen.by, since };
  const sums = useQuery({
    queryKey: keys.usage(asked),
    queryFn: () => unwrap(api.GET("/api/v1/usage", { params: { query: asked } })),
  });
  const daily = useQuery({
    queryKey: keys.usage(asked, "by day"),
    queryFn: () => unwrap(api.GET("/api/v1/usage", { params: { query: { ...asked, by_day: true } } })),
  });
  const error = sums.error ?? daily.error;
  return (
    <Page title={t.title} intro={t.intro}>
      <Choices chosen={chosen} onChange={setChosen} />
      {error !== null ? (
        <ErrorNote error={error} retry={() => void Promise.all([sums.refetch(), daily.refetch()])} />
      ) : sums.data === undefined || daily.data === undefined ? (
        <Waiting />
      ) : sums.data.items.length === 0 ? (
        <Empty
          title={t.none}
          action={
            <Link to="/chat" className={buttonClass("primary")}>
              {t.toChats}
            </Link>
          }
        >
          {t.noneHelp}
        </Empty>
      ) : (
        <Shown chosen={chosen} since={since} sums={sums.data.items} daily={daily.data.items} />
      )}
      <Quotas />
    </Page>
  );
}

function Choices({ chosen, onChange }: { chosen: Chosen; onChange: (next: Chosen) => void }) {
  const t = useWords(words);
  const isAdmin = useMe().user.role !== "member";
  const groups: By[] = isAdmin ? ["model", "user", "machine", "agent"] : ["model", "machine", "agent"];
  const measures: Measure[] = ["cost", "tokens", "calls"];
  return (
    <div className={css.filters}>
      <Field label={t.span}>
        <Select
          choices={SPANS.map((days) => ({ value: String(days), label: t.days(days) }))}
          value={chosen.days}
          onChange={(event) => onChange({ ...chosen, days: Number(event.target.value) })}
        />
      </Field>
      <Field label={t.by}>
        <Select
          choices={groups.map((by) => ({ value: by, label: t[by] }))}
          value={chosen.by}
          onChange={(event) => onChange({ ...chosen, by: event.target.value as By })}
        />
      </Field>
      <Field label={t.measure}>
        <Select
          choices={measures.map((measure) => ({ value: measure, label: t[measure] }))}
          value={chosen.measure}
          onChange={(event) => onChange({ ...chosen, measure: event.target.value as Measure })}
        />
      </Field>
    </div>
  );
}

function Shown(props: { chosen: Chosen; since: number; sums: Sum[]; daily: Sum[] }) {
  const t = useWords(words);
  const language = useLanguage();
  const { by, days, measure } = props.chosen;
  const names = useNames(by === "model" ? "none" : by);
  const nameOf = useNameOf(by, names);
  const total = totalOf(props.sums);
  const currency = total.currency ?? "USD";
  const span = daysFrom(props.since, Date.now());
  const format = (value: number) =>
    measure === "cost" ? money(value, currency, language) : compact(value, language);
  const lines = parts(props.daily, span, measure).map((part) => ({
    name: part.rest ? t.rest : nameOf(part.key),
    values: part.values,
  }));
  const isWithoutCost = measure === "cost" && total.currency === null;
  return (
    <>
      <Totals total={total} />
      <Section title={t.byDay}>
        {isWithoutCost ? (
          <p className={css.soft}>
            {t.noCost} <Inline text={t.costUnknown} />
          </p>
        ) : (
          <Chart
            kind="bars"
            label={t.chart(t[measure], t[by], days)}
            times={span.map(secondsOf)}
            lines={lines}
            format={format}
            formatTime={(seconds) => dayName(seconds, language)}
          />
        )}
      </Section>
      <Section title={t[by]}>
        <Groups by={by} measure={measure} sums={props.sums} nameOf={nameOf} />
      </Section>
      <details>
        <summary>{t.daysTable}</summary>
        <Days sums={props.daily} />
      </details>
    </>
  );
}

function useNameOf(by: By, names: Names): (key: string | null) => string {
  const t = useWords(words);
  return (key) => {
    if (key !== null && (by === "model" || names.size === 0)) return key;
    if (key !== null) return names.get(key) ?? `${t.gone} (${key.slice(0, 8)})`;
    return by === "machine" ? t.goneMachine : by === "agent" ? t.goneAgent : t.gone;
  };
}

function Totals({ total }: { total: Total }) {
  const t = useWords(words);
  const language = useLanguage();
  return (
    <Figures
      label={t.figures}
      of={[
        {
          name: t.cost,
          value: total.currency === null ? t.noPrice : money(total.cost, total.currency, language),
          note: total.unpriced > 0 && total.currency !== null ? t.unpriced(count(total.unpriced, language)) : null,
        },
        { name: t.tokensIn, value: compact(total.tokensIn, language) },
        { name: t.tokensOut, value: compact(total.tokensOut, language) },
        { name: t.calls, value: compact(total.calls, language) },
      ]}
    />
  );
}

function Groups(props: { by: By; measure: Measure; sums: Sum[]; nameOf: (key: string | null) => string }) {
  const t = useWords(words);
  const language = useLanguage();
  const whole = props.sums.reduce((total, sum) => total + amount(sum, props.measure), 0);
  const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  const rows = [...props.sums].sort((a, b) => amount(b, props.measure) - amount(a, props.measure));
  return (
    <Table
      stacks
      label={t[props.by]}
      rows={rows}
      rowKey={(row) => row.key ?? ""}
      columns={[
        { head: t[props.by], cell: (row) => props.nameOf(row.key) },
        { head: t.cost, end: true, cell: (row) => costOf(row, language, t.noPrice) },
        { head: t.tokensIn, end: true, cell: (row) => count(row.tokens_in, language) },
        { head: t.tokensOut, end: true, cell: (row) => count(row.tokens_out, language) },
        { head: t.calls, end: true, cell: (row) => count(row.calls, language) },
        {
          head: t.latency,
          end: true,
          cell: (row) => (row.latency_ms_avg === null ? "–" : duration(row.latency_ms_avg, language)),
        },
        {
          head: t.share,
          end: true,
          cell: (row) => (whole === 0 ? "–" : share.format(amount(row, props.measure) / whole)),
        },
      ]}
    />
  );
}

function costOf(row: Sum, language: string, unknown: string): string {
  return row.cost === null ? unknown : money(row.cost.amount, row.cost.currency, language);
}

function Days({ sums }: { sums: Sum[] }) {
  const t = useWords(words);
  const language = useLanguage();
  return (
    <Table
      label={t.daysTable}
      rows={perDay(sums)}
      rowKey={(row) => row.day}
      columns={[
        { head: t.day, cell: (row) => row.day },
        {
          head: t.cost,
          end: true,
          cell: (row) => (row.currency === null ? t.noPrice : money(row.cost, row.currency, language)),
        },
        { head: t.tokensIn, end: true, cell: (row) => count(row.tokensIn, language) },
        { head: t.tokensOut, end: true, cell: (row) => count(row.tokensOut, language) },
        { head: t.calls, end: true, cell: (row) => count(row.calls, language) },
      ]}
    />
  );
}

function dayName(seconds: number, language: string): string {
  const format = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", timeZone: "UTC" });
  return format.format(new Date(seconds * 1000));
}
