// All that a question is about: commands as a terminal has them, changes as a diff, the rest as it is.
import { useWords } from "../i18n";
import { Copy } from "../ui";
import css from "./card.module.css";
import { Change } from "./Change";
import type { Part } from "./question";
import { words } from "./words";

export function Parts({ parts }: { parts: readonly Part[] }) {
  const large = parts.filter((part) => part.kind !== "value");
  const small = parts.filter((part) => part.kind === "value");
  return (
    <>
      {large.map((part, at) => (
        <LargePart key={at} part={part} />
      ))}
      {small.length > 0 && (
        <dl className={css.values}>
          {small.map((part) => (
            <div key={part.of} style={{ display: "contents" }}>
              <dt>{part.of}</dt>
              <dd>
                <code>{part.text}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function LargePart({ part }: { part: Part }) {
  const t = useWords(words);
  if (part.kind === "diff") return <Change path={part.path} runs={part.runs} isWhole={part.isWhole} />;
  if (part.kind === "command")
    return (
      <div className={css.command}>
        <pre tabIndex={0} role="region" aria-label={part.of}>
          {part.text}
        </pre>
        <span className={css.copy}>
          <Copy text={part.text} what={t.copyCommand} />
        </span>
      </div>
    );
  return (
    <div>
      <div className={css.label}>{part.of}</div>
      <pre className={css.text} tabIndex={0} role="region" aria-label={part.of}>
        {part.text}
      </pre>
    </div>
  );
}
