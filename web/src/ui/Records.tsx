// Records that are more than a line of a table: a title, facts, what can be done with each.
import type { ReactNode } from "react";
import css from "./records.module.css";

export { default as records } from "./records.module.css";

export function Records({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className={css.list} aria-label={label}>
      {children}
    </ul>
  );
}

export function RecordItem(props: {
  title?: ReactNode;
  facts?: ReactNode;
  actions?: ReactNode;
  /** Below all of it, over the whole width. */
  below?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <li className={css.item}>
      <div className={css.main}>
        {props.title && <div className={css.title}>{props.title}</div>}
        {props.children}
        {props.facts && <div className={css.facts}>{props.facts}</div>}
      </div>
      {props.actions && <div className={css.actions}>{props.actions}</div>}
      {props.below && <div className={css.whole}>{props.below}</div>}
    </li>
  );
}
