// Colours of code by shiki, beside the page. Its theme has a "colour" for each kind of token; what
// they look like is up to the page.

import { createHighlighterCore, type HighlighterCore, type ThemeRegistration } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

import { KINDS, type Answer, type Colours, type Job } from "./highlighter.ts";
import { LANGUAGES, languageOf } from "./languages.ts";

const SCOPES: Record<string, string[]> = {
  comment: ["comment", "punctuation.definition.comment"],
  keyword: ["keyword", "storage", "variable.language", "entity.name.tag", "markup.deleted"],
  string: ["string", "punctuation.definition.string", "markup.inserted", "markup.inline.raw"],
  number: ["constant", "support.constant", "entity.other.attribute-name"],
  function: ["entity.name.function", "support.function", "meta.function-call.generic", "markup.heading"],
  type: ["entity.name.type", "entity.name.class", "support.type", "support.class", "meta.diff.range"],
};

const colourOf = (kind: string) => `#00000${KINDS.indexOf(kind as (typeof KINDS)[number])}`;

const THEME: ThemeRegistration = {
  name: "kinds",
  type: "light",
  colors: { "editor.foreground": colourOf("plain"), "editor.background": "#ffffff" },
  settings: Object.entries(SCOPES).map(([kind, scope]) => ({
    scope,
    settings: { foreground: colourOf(kind) },
  })),
};

const LINE_CHARS_MAX = 1000;

let making: Promise<HighlighterCore> | undefined;

async function colours({ text, language }: Job): Promise<Colours | null> {
  const name = languageOf(language);
  const load = name ? LANGUAGES[name] : undefined;
  if (!name || !load) return null;
  making ??= createHighlighterCore({
    themes: [THEME],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const highlighter = await making;
  if (!highlighter.getLoadedLanguages().includes(name)) await highlighter.loadLanguage(load);
  const lines = highlighter.codeToTokensBase(text, {
    lang: name,
    theme: "kinds",
    tokenizeMaxLineLength: LINE_CHARS_MAX,
    // A line that is given up half way would spoil those below it; the page ends what takes too long.
    tokenizeTimeLimit: 0,
  });
  return joined(text, lines);
}

type Piece = { content: string; color?: string };

function joined(text: string, lines: Piece[][]): number[] {
  const found: number[] = [];
  const add = (kind: number, length: number) => {
    if (length === 0) return;
    if (found.at(-2) === kind) found[found.length - 1] = (found.at(-1) ?? 0) + length;
    else found.push(kind, length);
  };
  let at = 0;
  lines.forEach((line, index) => {
    for (const { content, color } of line) {
      add(Number(color?.at(6) ?? 0), content.length);
      at += content.length;
    }
    if (index === lines.length - 1) return;
    const end = text.startsWith("\r\n", at) ? 2 : 1;
    add(0, end);
    at += end;
  });
  return found;
}

self.onmessage = async ({ data }: MessageEvent<Job>) => {
  const answer: Answer = { id: data.id, colours: await colours(data).catch(() => null) };
  self.postMessage(answer);
};
