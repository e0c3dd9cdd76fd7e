// Persons, and the groups that they are talked to in.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useWords } from "../../i18n";
import {
  Badge,
  Button,
  ConfirmDialog,
  Empty,
  ErrorNote,
  Menu,
  Page,
  Section,
  Table,
  Waiting,
  type Column,
} from "../../ui";
import {
  groupsQuery,
  homesQuery,
  personsQuery,
  removeGroup,
  removePerson,
  useChange,
  type Group,
  type Person,
} from "./data";
import { GroupDialog } from "./GroupDialog";
import css from "./groups.module.css";
import { PersonDialog } from "./PersonDialog";
import { words } from "./words";

type Shown =
  | { what: "person"; person: Person | null }
  | { what: "group"; group: Group | null }
  | { what: "person gone"; person: Person }
  | { what: "group gone"; group: Group };

export default function GroupsPage() {
  const t = useWords(words);
  const persons = useQuery(personsQuery);
  const groups = useQuery(groupsQuery);
  const [shown, setShown] = useState<Shown | null>(null);
  const newPerson = () => setShown({ what: "person", person: null });
  const newGroup = () => setShown({ what: "group", group: null });
  const failed = persons.error ?? groups.error;
  const isNew = persons.data?.length === 0;
  let content: ReactNode = <Waiting />;
  if (failed !== null) {
    content = <ErrorNote error={failed} retry={() => void Promise.all([persons.refetch(), groups.refetch()])} />;
  } else if (persons.data !== undefined && groups.data !== undefined) {
    content = (
      <>
        <Section title={t.groups}>
          {groups.data.length > 0 ? (
            <GroupTable groups={groups.data} onShow={setShown} />
          ) : (
            <Empty
              title={t.noGroups}
              action={!isNew && <Button onClick={newGroup}>{t.newGroup}</Button>}
            >
              {isNew ? t.noGroupsNoPersons : t.noGroupsHelp}
            </Empty>
          )}
        </Section>
        <Section
          title={t.persons}
          actions={
            <Button small onClick={newPerson}>
              <Plus size={15} aria-hidden /> {t.newPerson}
            </Button>
          }
        >
          {isNew ? (
            <Empty title={t.noPersons} action={<Button onClick={newPerson}>{t.newPerson}</Button>}>
              {t.noPersonsHelp}
            </Empty>
          ) : (
            <PersonTable persons={persons.data} onShow={setShown} />
          )}
        </Section>
      </>
    );
  }
  return (
    <Page
      title={t.groups}
      intro={t.intro}
      actions={
        <Button look="primary" onClick={newGroup} disabled={persons.data === undefined || isNew}>
          <Plus size={16} aria-hidden /> {t.newGroup}
        </Button>
      }
    >
      {content}
      {shown !== null && <Overlay shown={shown} onClose={() => setShown(null)} />}
    </Page>
  );
}

function Overlay({ shown, onClose }: { shown: Shown; onClose: () => void }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const dropPerson = useChange(removePerson);
  const dropGroup = useChange(removeGroup);
  const open = (group: Group) =>
    void navigate({ to: "/groups/$groupId", params: { groupId: group.id } });
  switch (shown.what) {
    case "person":
      return <PersonDialog person={shown.person} onClose={onClose} />;
    case "group":
      return (
        <GroupDialog group={shown.group} onClose={onClose} {...(shown.group === null && { onDone: open })} />
      );
    case "person gone":
      return (
        <ConfirmDialog
          title={t.removePerson(shown.person.name)}
          confirm={t.remove}
          danger
          onConfirm={() => dropPerson.mutateAsync(shown.person.id)}
          onClose={onClose}
        >
          {t.removePersonHelp}
        </ConfirmDialog>
      );
    case "group gone":
      return (
        <ConfirmDialog
          title={t.removeGroup(shown.group.name)}
          confirm={t.remove}
          danger
          onConfirm={() => dropGroup.mutateAsync(shown.group.id)}
          onClose={onClose}
        >
          {t.removeGroupHelp}
        </ConfirmDialog>
      );
  }
}

function GroupTable({ groups, onShow }: { groups: Group[]; onShow: (shown: Shown) => void }) {
  const t = useWords(words);
  const columns: Column<Group>[] = [
    {
      head: t.name,
      cell: (group) => (
        <Link to="/groups/$groupId" params={{ groupId: group.id }} className={css.name}>
          {group.name}
        </Link>
      ),
    },
    {
      head: t.members,
      cell: (group) => (
        <span className={css.chips}>
          {group.persons.map((person) => (
            <Badge key={person.id}>{person.name}</Badge>
          ))}
          {group.persons.length === 0 && t.nobodyIn}
        </span>
      ),
    },
    {
      head: <span className="visually-hidden">{t.actions}</span>,
      end: true,
      cell: (group) => (
        <Menu
          label={t.actionsFor(group.name)}
          items={[
            { label: t.edit, onSelect: () => onShow({ what: "group", group }) },
            { label: t.remove, danger: true, onSelect: () => onShow({ what: "group gone", group }) },
          ]}
        />
      ),
    },
  ];
  return <Table label={t.groups} columns={columns} rows={groups} rowKey={(group) => group.id} />;
}

function PersonTable({ persons, onShow }: { persons: Person[]; onShow: (shown: Shown) => void }) {
  const t = useWords(words);
  const { data: machines } = useQuery(homesQuery);
  const home = (person: Person) => {
    if (person.machine_id === null) return t.anyMachine;
    if (machines === undefined) return "";
    const machine = machines.find((one) => one.id === person.machine_id);
    if (machine === undefined) return <Badge tone="warn">{t.gone}</Badge>;
    return (
      <>
        <Link to="/machines/$machineId" params={{ machineId: machine.id }}>
          {machine.name}
        </Link>{" "}
        {!machine.online && <Badge tone="warn">{t.offline}</Badge>}
      </>
    );
  };
  const columns: Column<Person>[] = [
    { head: t.name, cell: (person) => <span className={css.name}>{person.name}</span> },
    { head: t.machine, cell: home },
    {
      head: t.model,
      cell: (person) => [person.model, person.runtime_type].filter(Boolean).join(" · ") || t.defaultModel,
    },
    { head: t.prompt, cell: (person) => <span className={css.prompt}>{person.prompt}</span> },
    {
      head: <span className="visually-hidden">{t.actions}</span>,
      end: true,
      cell: (person) => (
        <Menu
          label={t.actionsFor(person.name)}
          items={[
            { label: t.edit, onSelect: () => onShow({ what: "person", person }) },
            { label: t.remove, danger: true, onSelect: () => onShow({ what: "person gone", person }) },
          ]}
        />
      ),
    },
  ];
  return <Table label={t.persons} columns={columns} rows={persons} rowKey={(person) => person.id} />;
}
