// Markdown that streams in, as a list of top-level blocks. Only the open tail is lexed again, and
// only at the end of a line: cut anywhere else, a block is taken for another one (`a` + `---` …).

import type { Token } from "marked";

import { BoundedLexer } from "./lexer.ts";

export type Links = Record<string, { href: string; title: string | undefined }>;

/** A tail that is shorter is lexed at every call; a longer one when it has grown by an eighth, so
 * that a list or a paragraph without an end costs its length a few times and not its square. */
const LEXED_ALWAYS = 4096;

const TITLE = /^[ \t]*["'(]/;
const FENCE = /^ {0,3}(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})/;

/** The blocks of one message; `settle` is for the moment when it is shown, `end` for its last. */
export class Blocks {
  /** The Markdown of each block that cannot change any more. */
  readonly closed: string[] = [];
  /** What is still open: a block that may go on, and a line without its end. */
  tail = "";
  /** Link references so far: they count for the whole message. */
  links: Links = {};
  /** How many characters were lexed so far, which must stay in proportion to the text. */
  work = 0;

  private past: string[] = [];
  private held = "";
  private lexed = 0;
  private fenceEnd: RegExp | null = null;

  push(piece: string): void {
    let text = this.held + piece;
    this.held = "";
    if (text.endsWith("\r")) {
      this.held = "\r";
      text = text.slice(0, -1);
    }
    this.tail += text.includes("\r") ? text.replace(/\r\n|\r/g, "\n") : text;
  }

  /** Everything that was pushed, with `\n` for every end of a line. */
  get text(): string {
    return this.past.join("") + this.tail + (this.held ? "\n" : "");
  }

  /** Moves blocks that are over from the tail to `closed`. */
  settle(): void {
    const end = this.tail.lastIndexOf("\n") + 1;
    if (end === this.lexed || (end > LEXED_ALWAYS && end < this.lexed + this.lexed / 8)) return;
    if (this.fenceEnd && !this.fenceEnd.test(this.tail.slice(Math.max(this.lexed - 1, 0), end))) {
      this.lexed = end;
      return;
    }
    this.split(this.tail.slice(0, end));
  }

  /** The message is whole: lexed once more from its beginning. */
  end(): void {
    const whole = this.text;
    this.links = {};
    const tokens = topLevel(whole, this.links);
    const rest = this.behind(tokens);
    if (rest === null) {
      this.closed.length = this.past.length = 0;
      this.keep(tokens, whole);
    } else this.keep(rest, whole.slice(whole.length - lengthOf(rest)));
    this.tail = this.held = "";
    this.lexed = 0;
    this.fenceEnd = null;
  }

  private split(lines: string): void {
    this.work += lines.length;
    const tokens = topLevel(lines, this.links);
    let last = tokens.length - 1;
    // Blank lines do not end a list: what follows them decides.
    while (last > 0 && tokens[last]?.type === "space") last -= 1;
    // Nor does a quote end a link reference: it may be the beginning of its title.
    if (tokens[last - 1]?.type === "def" && TITLE.test(tokens[last]?.raw ?? "")) last -= 1;
    const done = this.keep(tokens.slice(0, last), lines);
    this.tail = this.tail.slice(done);
    this.lexed = lines.length - done;
    this.fenceEnd = openFence(tokens[last]);
  }

  /** These blocks are over; `text` begins with them. Says how long they are. */
  private keep(tokens: readonly Token[], text: string): number {
    const own = copied(text.slice(0, lengthOf(tokens)));
    let at = 0;
    for (const token of tokens) {
      if (isShown(token)) this.closed.push(own.slice(at, at + token.raw.length));
      at += token.raw.length;
    }
    this.past.push(own);
    return own.length;
  }

  /** What follows what is kept already, or null where that was taken for something else. */
  private behind(tokens: readonly Token[]): readonly Token[] | null {
    let left = this.past.reduce((sum, text) => sum + text.length, 0);
    let known = 0;
    let index = 0;
    for (; left > 0 && index < tokens.length; index += 1) {
      const token = tokens[index] as Token;
      left -= token.raw.length;
      if (isShown(token) && token.raw !== this.closed[known++]) return null;
    }
    return left === 0 && known === this.closed.length ? tokens.slice(index) : null;
  }
}

/** The tokens of one block, or of an open tail: inline ones too. */
export function lexBlock(raw: string, links: Links): Token[] {
  const lexer = new BoundedLexer();
  Object.assign(lexer.tokens.links, links);
  return lexer.lex(raw);
}

function topLevel(text: string, links: Links): Token[] {
  const lexer = new BoundedLexer();
  const tokens = lexer.blockTokens(text, []);
  for (const [tag, link] of Object.entries(lexer.tokens.links)) links[tag] ??= link as Links[string];
  return tokens;
}

/** A text by itself: a part of a string keeps all of that, in two bytes a letter if one needs it. */
function copied(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

function lengthOf(tokens: readonly { raw: string }[]): number {
  return tokens.reduce((sum, { raw }) => sum + raw.length, 0);
}

function isShown(token: Token): boolean {
  return token.type !== "space" && token.type !== "def";
}

/** What ends a fence that is still open; such a block is long, and nothing else can end it. */
function openFence(token: Token | undefined): RegExp | null {
  if (token?.type !== "code") return null;
  const mark = FENCE.exec(token.raw)?.[1];
  if (!mark) return null;
  const end = new RegExp(`\\n {0,3}\\${mark[0]}{${mark.length},} *(?=\\n|$)`);
  return end.test(token.raw) ? null : end;
}
