// A row of figures, each with its name and what it means.
import type { ReactNode } from "react";
import type { Tone } from "../../../ui";
import { cx } from "../../../ui";
import css from "./shared.module.css";

export type Figure = { name: ReactNode; value: ReactNode; note?: ReactNode; tone?: Tone };

export function Figures({ label, of }: { label: string; of: readonly (Figure | null)[] }) {
  return (
    <dl className={css.figures} aria-label={label}>
      {of.map((figure, at) =>
        figure === null ? null : (
          <div key={at} className={css.figure}>
            <dt>{figure.name}</dt>
            <dd className={cx(css.value, figure.tone && css[figure.tone])}>{figure.value}</dd>
            {figure.note && <dd className={css.note}>{figure.note}</dd>}
          </div>
        ),
      )}
    </dl>
  );
}
