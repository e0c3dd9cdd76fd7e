// What came of a test, in words.
import { Check } from "lucide-react";
import { useWords } from "../../i18n";
import { ErrorNote, Spinner } from "../../ui";
import css from "./models.module.css";
import type { Tested } from "./queries";
import { words } from "./words";

export function Outcome(props: {
  tested: Tested | undefined;
  isPending: boolean;
  failure: Error | null;
}) {
  const t = useWords(words);
  const { tested, isPending, failure } = props;
  return (
    <div role="status" aria-live="polite" className={css.outcome}>
      {isPending && (
        <p className={css.row}>
          <Spinner label={t.tests} />
          {t.tests}
        </p>
      )}
      {tested?.ok && (
        <>
          <p className={css.good}>
            <Check size={16} aria-hidden />
            {tested.models.length === 0 ? t.worksNone : t.works(tested.models.length)}
          </p>
          {tested.base_url !== null && <p className={css.soft}>{tested.base_url}</p>}
        </>
      )}
      {failure !== null && <ErrorNote error={failure} />}
      {tested?.code && (
        <>
          <ErrorNote error={new Error(t[`err_${tested.code}`])} />
          {tested.error && <p className={css.soft}>{t.said(tested.error)}</p>}
        </>
      )}
    </div>
  );
}
