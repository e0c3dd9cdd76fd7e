import { useQuery } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { Section, Table, Unread } from "../../../ui";
import { bytes, count } from "../../../ui/numbers";
import css from "../shared/shared.module.css";
import { words } from "./words";

type Quota = Schemas["Quota"];

/** How much of what one may have is in use. */
export function Quotas() {
  const t = useWords(words);
  const language = useLanguage();
  const found = useQuery({
    queryKey: keys.quotas(),
    queryFn: () => unwrap(api.GET("/api/v1/quotas")),
  });
  const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });
  const amount = (of: Quota, value: number) =>
    of.name.endsWith("bytes") ? bytes(value, language) : count(value, language);
  return (
    <Section title={t.quotas}>
      <p className={css.soft}>{t.quotasHelp}</p>
      {found.data === undefined ? (
        <Unread of={found} />
      ) : (
        <Table
          stacks
          label={t.quotas}
          rows={found.data.items}
          rowKey={(row) => row.name}
          columns={[
            { head: t.quota, cell: (row) => t[row.name] },
            { head: t.used, end: true, cell: (row) => amount(row, row.used) },
            { head: t.most, end: true, cell: (row) => amount(row, row.max) },
            { head: t.share, end: true, cell: (row) => (row.max === 0 ? "–" : share.format(row.used / row.max)) },
          ]}
        />
      )}
    </Section>
  );
}
