// The frame of a page: its title, what can be done here, and the content.
import { useEffect, type ReactNode } from "react";
import { setPageTitle } from "../app/title";
import { cx } from "./cx";
import css from "./page.module.css";

export function Page(props: {
  title: string;
  intro?: ReactNode;
  actions?: ReactNode;
  narrow?: boolean;
  children: ReactNode;
}) {
  useEffect(() => setPageTitle(props.title), [props.title]);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>{props.title}</h1>
        {props.actions}
      </header>
      <div className={css.body}>
        {props.intro && <p className={css.intro}>{props.intro}</p>}
        <div className={cx(css.content, props.narrow && css.narrow)}>{props.children}</div>
      </div>
    </div>
  );
}

export function Section(props: { title: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={css.section}>
      <div className={css.sectionHead}>
        <h2>{props.title}</h2>
        {props.actions}
      </div>
      {props.children}
    </section>
  );
}

/** Names and values. What is not known is left out. */
export function Facts({ of }: { of: readonly (readonly [ReactNode, ReactNode] | null)[] }) {
  return (
    <dl className={css.facts}>
      {of.map((fact, at) =>
        fact === null ? null : (
          <div key={at} style={{ display: "contents" }}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
