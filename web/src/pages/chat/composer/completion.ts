// What may be completed where the cursor stands: a command at the beginning, a person behind an @.

export type Option = { insert: string; name: string; description: string };
export type Completion = { from: number; to: number; options: Option[] };

type Offered = {
  commands: readonly { name: string; description: string }[];
  mentions: readonly { name: string; description: string }[];
};

const OPTIONS_MAX = 50;
// As the server reads it (control/groups/mentions.py): not inside an address, and `＠` is as good.
const MENTION = /(?<![0-9A-Za-z_.@＠\-\u00aa-\u1fff])[@＠]([\p{L}\p{M}\p{N}_-]*)$/u;

export function completionAt(text: string, cursor: number, offered: Offered): Completion | null {
  const before = text.slice(0, cursor);
  const command = /^\/(\S*)$/.exec(before);
  if (command) return found(0, cursor, "/", command[1] ?? "", offered.commands);
  const mention = MENTION.exec(before);
  if (mention) {
    const said = mention[1] ?? "";
    return found(cursor - said.length - 1, cursor, "@", said, offered.mentions);
  }
  return null;
}

function found(
  from: number,
  to: number,
  sign: string,
  said: string,
  among: readonly { name: string; description: string }[],
): Completion | null {
  const wanted = said.toLowerCase();
  const fits = (name: string) => name.toLowerCase().includes(wanted);
  const isBegun = (name: string) => Number(name.toLowerCase().startsWith(wanted));
  const options = among
    .filter(({ name }) => fits(name) && name !== said)
    .sort((a, b) => isBegun(b.name) - isBegun(a.name))
    .slice(0, OPTIONS_MAX)
    .map(({ name, description }) => ({ insert: `${sign}${name} `, name: sign + name, description }));
  return options.length === 0 ? null : { from, to, options };
}

/** The text with an option in it, and where the cursor stands then. */
export function completed(text: string, at: Completion, option: Option): { text: string; cursor: number } {
  const rest = text.slice(at.to).replace(/^ /, "");
  return { text: text.slice(0, at.from) + option.insert + rest, cursor: at.from + option.insert.length };
}
