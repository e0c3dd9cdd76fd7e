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

  /** The message is whole: lexed once more from its beginning. Says whether blocks have changed. */
  end(): boolean {
    const whole = this.text;
    this.links = {};
    const blocks = topLevel(whole, this.links)
      .filter(isShown)
      .map((token) => token.raw);
    const isSame =
      blocks.length === this.closed.length &&
      blocks.every((raw, index) => raw === this.closed[index]);
    this.closed.splice(0, this.closed.length, ...blocks);
    this.past = [whole];
    this.tail = this.held = "";
    this.lexed = 0;
    this.fenceEnd = null;
    return !isSame;
  }

  private split(lines: string): void {
    this.work += lines.length;
    const tokens = topLevel(lines, this.links);
    let last = tokens.length - 1;
    // Blank lines do not end a list: what follows them decides.
    while (last > 0 && tokens[last]?.type === "space") last -= 1;
    // Nor does a quote end a link reference: it may be the beginning of its title.
    if (tokens[last - 1]?.type === "def" && TITLE.test(tokens[last]?.raw ?? "")) last -= 1;
    let done = 0;
    for (const token of tokens.slice(0, last)) {
      done += token.raw.length;
      if (isShown(token)) this.closed.push(token.raw);
    }
    this.past.push(this.tail.slice(0, done));
    this.tail = this.tail.slice(done);
    this.lexed = lines.length - done;
    this.fenceEnd = openFence(tokens[last]);
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
