import { useQuery } from "@tanstack/react-query";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { Empty, Table, Unread } from "../../../ui";
import type { Session } from "../list/sessions";
import { count, money } from "../../../ui/numbers.ts";
import css from "./side.module.css";
import { usageQuery, type Total } from "./usage";
import { words } from "./words";

export function Usage({ session }: { session: Session }) {
  const t = useWords(words);
  const language = useLanguage();
  const found = useQuery(usageQuery(session));
  const { data } = found;
  if (data === undefined) return <Unread of={found} />;
  if (data.models.length === 0) return <Empty title={t.noUsage}>{t.noUsageHelp}</Empty>;
  type Row = Total & { name: string };
  const rows: Row[] = data.models.map((one) => ({ ...one, name: one.key ?? "" }));
  if (rows.length > 1) rows.push({ ...data.total, name: t.total });
  const number = (value: number) => count(value, language);
  return (
    <div className={css.part}>
      <Table
        label={t.usage}
        rows={rows}
        rowKey={(row) => row.name}
        columns={[
          { head: t.model, cell: (row) => <span className={css.model}>{row.name}</span> },
          { head: t.calls, cell: (row) => number(row.calls), end: true },
          { head: t.tokensIn, cell: (row) => number(row.tokens_in), end: true },
          { head: t.tokensOut, cell: (row) => number(row.tokens_out), end: true },
          { head: t.cost, cell: (row) => (row.cost === null ? "" : money(row.cost.amount, row.cost.currency, language)), end: true },
        ]}
      />
      {data.total.unpriced_calls > 0 && <p className={css.soft}>{t.unpriced(data.total.unpriced_calls)}</p>}
    </div>
  );
}
