import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import css from "./tabs.module.css";

export type Tab = { value: string; label: ReactNode; content: ReactNode };

export function Tabs(props: {
  label: string;
  tabs: readonly Tab[];
  value?: string;
  onChange?: (value: string) => void;
}) {
  const chosen = props.value === undefined ? { defaultValue: props.tabs[0]?.value } : { value: props.value };
  return (
    <Base.Root {...chosen} onValueChange={(value) => props.onChange?.(String(value))}>
      <Base.List className={css.list} aria-label={props.label}>
        {props.tabs.map((tab) => (
          <Base.Tab key={tab.value} value={tab.value} className={css.tab}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {props.tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value}>
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
