// A group's conversation by person: what each was asked, and what it said and did.

import type { Lane, Row, Turn } from "../../session/model.ts";

const known = new WeakMap<Turn, Map<string, readonly Row[]>>();

/** The rows of one person's column. A turn that has not changed is not looked through again. */
export function columnOf(turns: readonly Turn[], personId: string): Row[] {
  return turns.flatMap((turn) => {
    let columns = known.get(turn);
    if (columns === undefined) known.set(turn, (columns = new Map()));
    let rows = columns.get(personId);
    if (rows === undefined) columns.set(personId, (rows = rowsIn(turn, personId)));
    return rows;
  });
}

/** Everybody who is in the conversation: the group's persons first, then who has left it. */
export function everybodyIn(
  turns: readonly Turn[],
  persons: readonly { id: string; name: string }[],
): { id: string; name: string }[] {
  const met = new Map(persons.map(({ id, name }) => [id, { id, name }]));
  for (const turn of turns) {
    for (const { person } of turn.lanes) if (!met.has(person.id)) met.set(person.id, person);
  }
  return [...met.values()];
}

/** The names of those whose answer has not ended. */
export function speakingIn(turns: readonly Turn[]): string[] {
  const speaking = turns
    .filter((turn) => turn.state === "running")
    .flatMap((turn) => turn.lanes.filter((lane) => lane.state === "speaking"));
  return [...new Set(speaking.map((lane) => lane.person.name))];
}

function rowsIn(turn: Turn, personId: string): readonly Row[] {
  const own = turn.lanes.filter((lane) => lane.person.id === personId);
  if (own.length === 0 && turn.lanes.length > 0) return [];
  const begun = turn.rows.filter((row) => row.person === null && row.kind !== "end");
  const ended = turn.rows.filter((row) => row.kind === "end" && row.state !== "completed");
  return [...begun, ...own.flatMap((lane) => [...headOf(turn, lane), ...lane.rows]), ...ended];
}

/** Who speaks is above the column already; who asked, and that it failed, is not. */
function headOf(turn: Turn, lane: Lane): Row[] {
  if (lane.by === null && (lane.state === "speaking" || lane.state === "completed")) return [];
  return turn.rows.filter((row) => row.kind === "speaker" && row.lane === lane.key);
}
