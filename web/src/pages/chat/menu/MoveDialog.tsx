import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { machinesQuery } from "../../../api/names";
import { useWords } from "../../../i18n";
import { ConfirmDialog, Dialog, Field, Select } from "../../../ui";
import type { Session } from "../list/sessions";
import { words } from "../words";
import { useChange } from "./change";

export function MoveDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const t = useWords(words);
  const { patch } = useChange(session);
  const { data } = useQuery(machinesQuery);
  const here = data?.find((machine) => machine.id === session.machine_id);
  const others = (data ?? []).filter(
    (machine) =>
      machine.online &&
      machine.id !== session.machine_id &&
      machine.user_id === session.user_id &&
      machine.kind === (here?.kind ?? "vm"),
  );
  const [chosen, choose] = useState("");
  const target = chosen || others[0]?.id;
  if (target === undefined) {
    return (
      <Dialog title={t.moveTitle} onClose={onClose}>
        <p>{t.moveNone}</p>
      </Dialog>
    );
  }
  return (
    <ConfirmDialog
      title={t.moveTitle}
      confirm={t.moveYes}
      onConfirm={() => patch({ machine_id: target })}
      onClose={onClose}
    >
      <p>{t.moveHelp}</p>
      <Field label={t.moveTo}>
        <Select
          value={target}
          choices={others.map((machine) => ({ value: machine.id, label: machine.name }))}
          onChange={(event) => choose(event.target.value)}
        />
      </Field>
    </ConfirmDialog>
  );
}
