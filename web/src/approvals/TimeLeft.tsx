import { useEffect, useState } from "react";
import { useWords } from "../i18n";
import { useLanguage } from "../i18n/language";
import css from "./card.module.css";
import { words } from "./words";

const SOON_MS = 60_000;

/** How long a question waits still. */
export function TimeLeft({ until }: { until: number }) {
  const t = useWords(words);
  const language = useLanguage();
  const [now, setNow] = useState(Date.now);
  const left = until - now;
  const isSoon = left < SOON_MS;
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(() => setNow(Date.now()), isSoon ? 1_000 : 10_000);
    return () => clearTimeout(timer);
  }, [left, isSoon]);
  if (left <= 0) return <span className={css.late}>{t.timeUp}</span>;
  const [amount, unit] = isSoon
    ? [Math.ceil(left / 1_000), "second"]
    : left < 60 * SOON_MS
      ? [Math.round(left / SOON_MS), "minute"]
      : [Math.round(left / 60 / SOON_MS), "hour"];
  const told = amount.toLocaleString(language, { style: "unit", unit, unitDisplay: "short" });
  return <span className={isSoon ? css.late : undefined}>{t.left(told)}</span>;
}
