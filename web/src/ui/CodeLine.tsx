// Something to be typed elsewhere, whole, with a button that copies it.
import type { ReactNode } from "react";
import { Copy } from "./Copy";
import css from "./codeLine.module.css";

export function CodeLine(props: { label: string; text: string; hint?: ReactNode }) {
  return (
    <div className={css.line}>
      <div className={css.head}>
        <span>{props.label}</span>
        <Copy text={props.text} what={props.label} />
      </div>
      <pre className={css.text} tabIndex={0} aria-label={props.label} role="region">
        {props.text}
      </pre>
      {props.hint && <p className={css.hint}>{props.hint}</p>}
    </div>
  );
}
