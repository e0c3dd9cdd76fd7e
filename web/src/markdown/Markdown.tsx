// Tokens of marked as React elements. No HTML is ever made of a text: raw HTML is shown as such.

import type { Token, Tokens } from "marked";
import { createContext, Fragment, memo, use, useMemo, type ReactNode } from "react";
import remend from "remend";

import { lexBlock, type Links } from "../session/blocks.ts";
import { Code } from "./Code.tsx";
import { decoded } from "./entities.ts";
import { safeLink, safePicture } from "./links.ts";
import css from "./markdown.module.css";
import { useWords } from "../i18n";
import { words } from "./words.ts";

/** The session whose files pictures may come from. */
export const FilesOf = createContext<string | null>(null);

const NO_LINKS: Links = {};

/** One block, or a text of several. `isOpen`: more of it is still to come. */
export const Markdown = memo(function Markdown(props: { text: string; links?: Links; isOpen?: boolean }) {
  const { text, links = NO_LINKS, isOpen = false } = props;
  const tokens = useMemo(() => lexBlock(isOpen ? completed(text) : text, links), [text, links, isOpen]);
  return <div className={css.markdown}>{blocks(tokens, isOpen)}</div>;
});

/** Marks that are opened in the last paragraph are closed, so that they are not seen for a moment. */
function completed(text: string): string {
  const at = text.lastIndexOf("\n\n") + 1;
  if (text.length - at > LONGEST_COMPLETED) return text;
  return text.slice(0, at) + remend(text.slice(at), { katex: false, inlineKatex: false, setextHeadings: false });
}
const LONGEST_COMPLETED = 4000;

function blocks(tokens: Token[] | undefined, isOpen = false): ReactNode[] {
  return (tokens ?? []).map((token, index) => (
    <Fragment key={index}>{block(token as Tokens.Generic, isOpen)}</Fragment>
  ));
}

function block(token: Tokens.Generic, isOpen: boolean): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <Heading depth={token["depth"] as number}>{inline(token.tokens)}</Heading>;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return token.tokens ? inline(token.tokens) : decoded(token["text"] as string);
    case "code":
      return <Code text={token["text"] as string} language={token["lang"] as string | undefined} isOpen={isOpen} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, isOpen)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} isOpen={isOpen} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "html":
      return <p className={css.html}>{token.raw.trimEnd()}</p>;
    default:
      return inline([token]);
  }
}

/** A page has headings of its own: those of an answer begin below them. */
function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const Tag = (["h3", "h4", "h5", "h6"] as const)[Math.min(depth, 4) - 1] ?? "h6";
  return (
    <Tag className={css.heading} data-depth={depth}>
      {children}
    </Tag>
  );
}

function List({ list, isOpen }: { list: Tokens.List; isOpen: boolean }) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? css.task : undefined}>
      {blocks(item.tokens, isOpen)}
    </li>
  ));
  if (!list.ordered) return <ul>{items}</ul>;
  return <ol start={list.start === "" ? 1 : list.start}>{items}</ol>;
}

function Table({ table }: { table: Tokens.Table }) {
  const t = useWords(words);
  const side = (at: number) => ({ "data-align": table.align[at] ?? undefined });
  return (
    <div className={css.scroll} role="region" aria-label={t.table} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, at) => (
              <th key={at} scope="col" {...side(at)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} {...side(at)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ReactNode[] {
  return (tokens ?? []).map((token, index) => (
    <Fragment key={index}>{mark(token as Tokens.Generic)}</Fragment>
  ));
}

function mark(token: Tokens.Generic): ReactNode {
  switch (token.type) {
    case "text":
      return token.tokens ? inline(token.tokens) : decoded(token["text"] as string);
    case "escape":
      return token["text"] as string;
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token["text"] as string}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link link={token as Tokens.Link} />;
    case "image":
      return <Picture image={token as Tokens.Image} />;
    case "checkbox":
      return <TaskMark isDone={token["checked"] === true} />;
    default:
      return token.raw;
  }
}

function TaskMark({ isDone }: { isDone: boolean }) {
  const t = useWords(words);
  return <input type="checkbox" disabled checked={isDone} aria-label={isDone ? t.done : t.notDone} />;
}

function Link({ link }: { link: Tokens.Link }) {
  const href = safeLink(decoded(link.href));
  const children = inline(link.tokens);
  if (href === null) return <span title={link.href}>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={link.title ?? undefined}>
      {children}
    </a>
  );
}

function Picture({ image }: { image: Tokens.Image }) {
  const sessionId = use(FilesOf);
  const src = safePicture(decoded(image.href), sessionId);
  if (src !== null) return <img className={css.picture} src={src} alt={image.text} loading="lazy" />;
  const href = safeLink(decoded(image.href));
  if (href === null) return image.text || image.href;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {image.text || image.href}
    </a>
  );
}
