// Some names out of those that are known, or all of them.
import { useState } from "react";
import { useWords } from "../../../i18n";
import { Checkbox, Field, records, Textarea } from "../../../ui";
import css from "./agents.module.css";
import { lines } from "./draft";
import { words } from "./words";

export function Choose(props: {
  label: string;
  known: string[];
  /** Null: all of them. */
  chosen: string[] | null;
  onChange: (chosen: string[] | null) => void;
  /** What is shown of a name, where that is not the name itself. */
  names?: Record<string, string>;
  /** Names that are not known here can be written. */
  other?: { label: string; hint: string };
  /** There is no `all`. */
  neverAll?: boolean;
  none?: string;
  /** What it means that no name is chosen. */
  noneMeans?: string;
}) {
  const t = useWords(words);
  const { known, chosen, onChange, other } = props;
  const unknown = (chosen ?? []).filter((one) => !known.includes(one));
  // As it is typed, with its empty lines, while it says what was chosen.
  const [typed, setTyped] = useState("");
  const written = lines(typed).join("\n") === unknown.join("\n") ? typed : unknown.join("\n");
  const toggle = (name: string, on: boolean) =>
    onChange(on ? [...(chosen ?? []), name] : (chosen ?? []).filter((one) => one !== name));
  const shown = other ? known : [...known, ...unknown];
  return (
    <fieldset className={css.choose}>
      <legend>{props.label}</legend>
      {!props.neverAll && (
        <Checkbox
          label={t.toolsAll}
          checked={chosen === null}
          onChange={(on) => onChange(on ? null : [...known])}
        />
      )}
      {chosen !== null && shown.length === 0 && !other && (
        <p className={records.soft}>{props.none ?? t.none}</p>
      )}
      {chosen !== null && (
        <div className={css.names}>
          {shown.map((name) => (
            <Checkbox
              key={name}
              label={props.names?.[name] ?? name}
              checked={chosen.includes(name)}
              onChange={(on) => toggle(name, on)}
            />
          ))}
        </div>
      )}
      {chosen?.length === 0 && props.noneMeans && <p className={records.soft}>{props.noneMeans}</p>}
      {chosen !== null && other && (
        <Field label={other.label} hint={other.hint}>
          <Textarea
            rows={2}
            spellCheck={false}
            value={written}
            onChange={(event) => {
              const others = lines(event.target.value);
              setTyped(event.target.value);
              onChange([...new Set([...chosen.filter((one) => known.includes(one)), ...others])]);
            }}
          />
        </Field>
      )}
    </fieldset>
  );
}
