// marked's lexer with bounds: what a model says must not stop the page, whatever it is.

import { getDefaults, Lexer, Tokenizer, type Token, type Tokens } from "marked";

/** Quotes and lists in each other: marked calls itself for each, thousands deep if it must. */
const DEPTH_MAX = 24;
/** Of text with marks in it; some of marked's patterns take the square of its length. */
const INLINE_CHARS_MAX = 8000;

class ShallowTokenizer extends Tokenizer {
  private depth = 0;

  override blockquote(src: string): Tokens.Blockquote | undefined {
    return this.deeper(() => super.blockquote(src));
  }

  override list(src: string): Tokens.List | undefined {
    return this.deeper(() => super.list(src));
  }

  private deeper<T>(read: () => T | undefined): T | undefined {
    if (this.depth >= DEPTH_MAX) return undefined;
    this.depth += 1;
    try {
      return read();
    } finally {
      this.depth -= 1;
    }
  }
}

export class BoundedLexer extends Lexer {
  constructor() {
    super({ ...getDefaults(), tokenizer: new ShallowTokenizer() });
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (src.length <= INLINE_CHARS_MAX) return super.inlineTokens(src, tokens);
    tokens.push({ type: "text", raw: src, text: src, escaped: false });
    return tokens;
  }
}
