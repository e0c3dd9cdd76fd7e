// A file to read, as far as it is text: its name, a copy and a download above it.
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import { fetched } from "../api/client";
import { useWords } from "../i18n";
import { useLanguage } from "../i18n/language";
import { buttonClass } from "./controls";
import { Copy } from "./Copy";
import { ErrorNote, Waiting } from "./feedback";
import css from "./fileText.module.css";
import { bytes } from "./numbers";
import { records } from "./Records";
import { words } from "./words";

/** More than that is downloaded, not shown. */
export const BYTES_SHOWN = 200_000;

export function FileText(props: {
  path: string;
  /** Where it is downloaded. */
  address: string;
  /** Where it is read, if a part of it can be asked for; by default all of it. */
  part?: string;
  queryKey: readonly unknown[];
}) {
  const t = useWords(words);
  const language = useLanguage();
  const file = useQuery({
    queryKey: props.queryKey,
    queryFn: () => read(props.part ?? props.address),
    staleTime: 0, // an agent may be writing it
  });
  const found = file.data;
  return (
    <section className={css.file} aria-label={props.path}>
      <FileHead path={props.path} address={props.address}>
        {found && <Copy text={found.text} what={props.path} />}
      </FileHead>
      {file.error && <ErrorNote error={file.error} retry={() => void file.refetch()} />}
      {found === undefined && !file.error && <Waiting />}
      {found === null && <p className={records.soft}>{t.notText}</p>}
      {found && (
        <pre className={css.text} tabIndex={0}>
          {found.text}
        </pre>
      )}
      {found && found.size > found.shown && (
        <p className={records.soft}>{t.firstPart(bytes(found.shown, language), bytes(found.size, language))}</p>
      )}
    </section>
  );
}

/** What the file is called, and where to get it. */
export function FileHead(props: { path: string; address: string; children?: ReactNode }) {
  const t = useWords(words);
  return (
    <div className={css.head}>
      <code>{props.path}</code>
      {props.children}
      <a className={buttonClass("plain", true)} href={props.address} download={props.path.split("/").at(-1)}>
        <Download size={14} aria-hidden />
        {t.download}
      </a>
    </div>
  );
}

type Shown = { text: string; shown: number; size: number };

/** Null for what is not text. */
async function read(address: string): Promise<Shown | null> {
  const response = await fetched(address);
  const all = new Uint8Array(await response.arrayBuffer());
  const size = Number(response.headers.get("content-range")?.split("/")[1] ?? all.length);
  const shown = all.subarray(0, BYTES_SHOWN);
  try {
    // As a stream: what is shown may end inside of a character.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(shown, { stream: true });
    return text.includes("\0") ? null : { text, shown: shown.length, size };
  } catch {
    return null;
  }
}
