import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { useWords } from "../i18n";
import { IconButton } from "./controls";
import { toast } from "./feedback";
import { words } from "./words";

const SHOWN_MS = 1_500;

/** Copies a text; `what` says what it is, where several are on the page. */
export function Copy({ text, what }: { text: string | (() => string); what?: string }) {
  const t = useWords(words);
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return;
    const timer = setTimeout(() => setDone(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = () =>
    writeClipboard(typeof text === "string" ? text : text()).then(
      () => setDone(true),
      () => toast(t.notCopied),
    );
  const label = what ? `${t.copy}: ${what}` : t.copy;
  return (
    <IconButton label={isDone ? t.copied : label} onClick={() => void copy()}>
      {isDone ? <Check size={15} /> : <CopyIcon size={15} />}
    </IconButton>
  );
}

/** Plain HTTP to another host has no clipboard API; a selection does it there. */
async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  // Behind an open dialog nothing can be selected.
  (before?.closest("dialog") ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!isDone) throw new Error("the browser does not copy");
}
