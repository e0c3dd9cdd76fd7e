// How long and how much is kept, as a person writes it: of an organisation's sessions or of one chat.
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useWords } from "../../i18n";
import { Field, Input } from "../../ui";
import { words } from "./words";

export type Bounds = Schemas["Retention"];

const MB = 1_000_000;

/** What is in the fields; `wanted` is what the API is told. */
export function useBounds(kept: Bounds) {
  const [days, setDays] = useState(`${kept.days ?? ""}`);
  const [megabytes, setMegabytes] = useState(kept.size_bytes == null ? "" : `${kept.size_bytes / MB}`);
  const wanted: Bounds = {
    days: days === "" ? null : Number(days),
    size_bytes: megabytes === "" ? null : Math.round(Number(megabytes) * MB),
  };
  return { days, setDays, megabytes, setMegabytes, wanted };
}

/** `org`: what holds where a field is left empty. */
export function BoundFields(props: { of: ReturnType<typeof useBounds>; org?: Bounds; disabled?: boolean }) {
  const t = useWords(words);
  const { of, org, disabled } = props;
  const days = org?.days == null ? t.none : t.inDays(org.days);
  const size = org?.size_bytes == null ? t.none : t.inMegabytes(org.size_bytes / MB);
  return (
    <>
      <Field label={t.days} hint={org ? t.asOrg(days) : t.noBound}>
        <Input type="number" min={1} max={org?.days ?? 36500} disabled={disabled} value={of.days} onChange={(event) => of.setDays(event.target.value)} />
      </Field>
      <Field label={t.size} hint={org ? t.asOrg(size) : t.noBound}>
        <Input type="number" min={0.1} step="any" disabled={disabled} value={of.megabytes} onChange={(event) => of.setMegabytes(event.target.value)} />
      </Field>
    </>
  );
}
