// Buttons and fields. Native elements where they do: they work with every keyboard and phone.
import { Plus } from "lucide-react";
import { createContext, use, useId, type ComponentProps, type ReactNode } from "react";
import css from "./controls.module.css";
import { cx } from "./cx";

type Look = "plain" | "primary" | "danger" | "quiet";

type ButtonProps = ComponentProps<"button"> & { look?: Look; small?: boolean };

export function Button({ look = "plain", small, className, type, ...rest }: ButtonProps) {
  return (
    <button
      type={type ?? "button"}
      className={cx(css.button, look !== "plain" && css[look], small && css.small, className)}
      {...rest}
    />
  );
}

/** What a list's page offers first: one more of them. */
export function AddButton({ children, onClick }: { children: ReactNode; onClick: () => void }) {
  return (
    <Button look="primary" onClick={onClick}>
      <Plus size={16} aria-hidden />
      {children}
    </Button>
  );
}

/** The classes of a button, for a link that looks like one. */
export function buttonClass(look: Look = "plain", small = false): string {
  return cx(css.button, look !== "plain" && css[look], small && css.small);
}

type IconButtonProps = Omit<ComponentProps<"button">, "aria-label"> & { label: string };

/** An icon alone; `label` is its name and its tooltip. */
export function IconButton({ label, className, type, ...rest }: IconButtonProps) {
  return (
    <button
      type={type ?? "button"}
      aria-label={label}
      title={label}
      className={cx(css.icon, className)}
      {...rest}
    />
  );
}

type Described = { id: string; hint?: string; error?: string };
const FieldContext = createContext<Described | null>(null);

/** A label, what it is for, and what is wrong with it, around one input of this file. */
export function Field(props: {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  children: ReactNode;
}) {
  const id = useId();
  const described: Described = { id };
  if (props.hint) described.hint = `${id}-hint`;
  if (props.error) described.error = `${id}-error`;
  return (
    <div className={css.field}>
      <label className={css.label} htmlFor={id}>
        {props.label}
      </label>
      <FieldContext value={described}>{props.children}</FieldContext>
      {props.hint && (
        <span className={css.hint} id={described.hint}>
          {props.hint}
        </span>
      )}
      {props.error && (
        <span className={css.error} id={described.error} role="alert">
          {props.error}
        </span>
      )}
    </div>
  );
}

function useDescribed() {
  const field = use(FieldContext);
  if (field === null) return {};
  const by = [field.hint, field.error].filter(Boolean).join(" ");
  return {
    id: field.id,
    ...(by && { "aria-describedby": by }),
    ...(field.error && { "aria-invalid": true as const }),
  };
}

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input {...useDescribed()} className={cx(css.input, className)} {...rest} />;
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea {...useDescribed()} className={cx(css.input, css.area, className)} {...rest} />;
}

export type Choice = { value: string; label: string; disabled?: boolean };

type SelectProps = ComponentProps<"select"> & { choices: readonly Choice[] };

export function Select({ choices, className, ...rest }: SelectProps) {
  return (
    <select {...useDescribed()} className={cx(css.input, className)} {...rest}>
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value} disabled={choice.disabled}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

type ToggleProps = Omit<ComponentProps<"input">, "type" | "onChange"> & {
  label: ReactNode;
  onChange: (on: boolean) => void;
};

export function Checkbox({ label, onChange, className, ...rest }: ToggleProps) {
  return (
    <label className={cx(css.check, className)}>
      <input type="checkbox" onChange={(event) => onChange(event.target.checked)} {...rest} />
      {label}
    </label>
  );
}

export function Switch({ label, onChange, className, ...rest }: ToggleProps) {
  return (
    <label className={cx(css.check, className)}>
      <input
        type="checkbox"
        role="switch"
        className={css.switch}
        onChange={(event) => onChange(event.target.checked)}
        {...rest}
      />
      {label}
    </label>
  );
}
