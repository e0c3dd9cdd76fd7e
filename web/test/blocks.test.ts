import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Lexer } from "marked";

import { Blocks, lexBlock } from "../src/session/blocks.ts";
import { below, cut, pick, seeded, type Random } from "./random.ts";

const WORDS = [
  "one", "two", "**bold**", "`code`", "[a]", "[text][b]", "<br>", "中文字", "这是一句话。", "*x*", "a|b",
  "https://example.com/x", "&amp;", "~~no~~", "1. ", "- ", "\\*", "$x$", "|", "# ", "> ", "\t", "  ",
];

function line(random: Random): string {
  return Array.from({ length: 1 + below(random, 5) }, () => pick(random, WORDS)).join(" ");
}

function lines(random: Random, before: string, most = 4): string {
  return Array.from({ length: 1 + below(random, most) }, () => before + line(random)).join("\n");
}

const PARTS: ((random: Random) => string)[] = [
  (random) => lines(random, ""),
  (random) => lines(random, pick(random, ["- ", "* ", "1. ", "2) ", "- [ ] ", "- [x] "])),
  (random) => `- ${line(random)}\n${pick(random, ["", "\n"])}  ${line(random)}\n  - ${line(random)}`,
  (random) => `- ${line(random)}\n\n  \`\`\`js\n  ${line(random)}\n  \`\`\``,
  (random) => {
    const mark = pick(random, ["```", "~~~", "````"]);
    const end = pick(random, [mark, mark, mark, "", "`", "``", ` ${mark}`, `${mark}\``]);
    return `${pick(random, ["", "  "])}${mark}${pick(random, ["", "py", "ts x"])}\n${lines(random, pick(random, ["", "    ", "- "]))}\n\n${lines(random, "")}\n${end}`;
  },
  (random) => `| ${line(random)} | b |\n| --- | :-: |\n| ${line(random)} | 中 |\n| c |`,
  (random) => `${lines(random, "> ")}\n${pick(random, ["", line(random), "> ```\n> x", "> - y"])}`,
  (random) => `${pick(random, ["<div>", "<details>", "<!-- ", "<pre>", "</p>", "<x-y>"])}\n${line(random)}\n${pick(random, ["", "\n"])}${line(random)}\n${pick(random, ["</div>", "-->", "</pre>", ""])}`,
  (random) => `[${pick(random, ["a", "b", "中"])}]: ${pick(random, ["/x", "<y z>", "https://e.com"])}${pick(random, ["", ' "t"', '\n"t"', "\n'u\nv'"])}`,
  (random) => `${pick(random, ["#", "##", "######", "#x"])} ${line(random)}`,
  (random) => `${line(random)}\n${pick(random, ["---", "===", "- - -", "***", "--"])}`,
  (random) => lines(random, "    "),
  (random) => lines(random, "\t"),
  (random) => pick(random, ["---", "***", "", "\n", "   ", "\\"]),
];

function document(random: Random): string {
  let text = "";
  for (let count = 1 + below(random, 9); count > 0; count -= 1) {
    text += pick(random, PARTS)(random) + pick(random, ["\n", "\n\n", "\n\n", "\n \n", "\r\n", "\n\n\n"]);
  }
  return random() < 0.3 ? text.trimEnd() : text;
}

const shown = (type: string) => type !== "space" && type !== "def";

test("blocks of a stream are those of the whole document, wherever it is cut", () => {
  for (let seed = 1; seed <= 2000; seed += 1) {
    const random = seeded(seed);
    const text = document(random);
    const tokens = new Lexer().lex(text);
    const wanted = tokens.filter((token) => shown(token.type));
    const blocks = new Blocks();
    for (const piece of cut(random, text, pick(random, [1, 3, 12, 80]))) {
      blocks.push(piece);
      if (random() < 0.7) blocks.settle();
    }
    const early = [...blocks.closed];
    assert.deepEqual(
      early,
      wanted.slice(0, early.length).map((token) => token.raw),
      `before the end, seed ${seed}`,
    );
    blocks.end();
    assert.deepEqual(blocks.closed, wanted.map((token) => token.raw), `seed ${seed}`);
    assert.equal(blocks.text, text.replace(/\r\n|\r/g, "\n"));
    const alone = blocks.closed.flatMap((raw) => lexBlock(raw, blocks.links));
    assert.deepEqual(alone.filter((token) => shown(token.type)), wanted, `alone, seed ${seed}`);
  }
});

test("a block is closed as soon as the next one has begun", () => {
  const blocks = new Blocks();
  blocks.push("# Title\nFirst");
  blocks.settle();
  assert.deepEqual(blocks.closed, []);
  blocks.push(" line\n");
  blocks.settle();
  assert.deepEqual(blocks.closed, ["# Title\n"]);
  assert.equal(blocks.tail, "First line\n");
});

test("a long block without an end is not lexed again at every piece", () => {
  for (const [head, one] of [["```\n", "x = 1\n"], ["", "- item\n"], ["", "words "]] as const) {
    const blocks = new Blocks();
    blocks.push(head);
    for (let count = 0; count < 5000; count += 1) {
      blocks.push(one);
      blocks.settle();
    }
    assert.ok(blocks.work < 60 * blocks.text.length, `${blocks.work} of ${head}${one}`);
    blocks.end();
    assert.equal(blocks.closed.length, 1);
  }
});

test("a long answer is kept once, and a foreign letter makes nothing larger than its own block", () => {
  const paragraph = `${"What is said at length. ".repeat(20)}\n\n`;
  const text = [`One in 中文.\n\n${paragraph.repeat(3)}`.repeat(2000)].join();
  const pieces = Array.from({ length: Math.ceil(text.length / 300) }, (_, index) => text.slice(index * 300, index * 300 + 300));
  const blocks = new Blocks();
  const before = heapUsed();
  for (const piece of pieces) {
    blocks.push(piece);
    blocks.settle();
  }
  const streaming = heapUsed() - before;
  blocks.end();
  const ended = heapUsed() - before;
  assert.ok(streaming < 2 * text.length, `${streaming} bytes for ${text.length} letters`);
  assert.ok(ended < 2 * text.length, `${ended} bytes for ${text.length} letters`);
  assert.equal(blocks.text, pieces.join(""));
});

/** Without what could be thrown away. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  /x/.exec("x"); // what a pattern was tried on last is kept until the next one
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

test("a text that is all marks is read, and no deeper than it can be shown", () => {
  for (const mark of ["> ", "- ", "1. ", "*", "[", "`a", "**a *b "]) {
    const text = mark.repeat(5000);
    const [token] = lexBlock(text, {});
    assert.ok(token, mark);
    assert.ok(JSON.stringify(token).length < 400 * text.length, mark);
  }
});
