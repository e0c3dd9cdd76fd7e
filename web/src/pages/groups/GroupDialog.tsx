import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "../../api/client";
import { useWords } from "../../i18n";
import { Button, Checkbox, Dialog, ErrorNote, Field, Input } from "../../ui";
import { personsQuery, useChange, type Group } from "./data";
import css from "./groups.module.css";
import { words } from "./words";

/** A new group, or one that is changed. */
export function GroupDialog(props: {
  group: Group | null;
  onClose: () => void;
  onDone?: (group: Group) => void;
}) {
  const { group, onClose } = props;
  const t = useWords(words);
  const { data: persons = [] } = useQuery(personsQuery);
  const [name, setName] = useState(group?.name ?? "");
  const [chosen, setChosen] = useState<readonly string[]>(group?.persons.map((one) => one.id) ?? []);
  const save = useChange(async () => {
    const body = { name, person_ids: [...chosen] };
    const path = { group_id: group?.id ?? "" };
    const done =
      group === null
        ? await unwrap(api.POST("/api/v1/groups", { body }))
        : await unwrap(api.PATCH("/api/v1/groups/{group_id}", { params: { path }, body }));
    onClose();
    props.onDone?.(done);
  });
  const choose = (id: string, on: boolean) =>
    setChosen((before) => (on ? [...before, id] : before.filter((one) => one !== id)));
  return (
    <Dialog
      title={group === null ? t.newGroup : t.editPerson(group.name)}
      onClose={onClose}
      onSubmit={() => save.mutate(undefined)}
      actions={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" look="primary" disabled={save.isPending || name.trim() === ""}>
            {group === null ? t.create : t.save}
          </Button>
        </>
      }
    >
      <Field label={t.name}>
        <Input
          value={name}
          autoFocus
          required
          maxLength={60}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <fieldset className={css.members}>
        <legend>{t.members}</legend>
        {persons.map((person) => (
          <Checkbox
            key={person.id}
            label={person.name}
            checked={chosen.includes(person.id)}
            onChange={(on) => choose(person.id, on)}
          />
        ))}
        {persons.length === 0 && <p>{t.noGroupsNoPersons}</p>}
      </fieldset>
      {save.error !== null && <ErrorNote error={save.error} />}
    </Dialog>
  );
}
