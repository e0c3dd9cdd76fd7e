import { Download, FileText } from "lucide-react";
import { use, useState } from "react";

import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { fileAddress } from "../../../markdown/links.ts";
import { FilesOf } from "../../../markdown/Markdown.tsx";
import type { FileChange } from "../../../session/model.ts";
import { Badge, Diff, DiffStat } from "../../../ui";
import { bytes } from "../../../ui/numbers.ts";
import { FileName, isPicture } from "../FileName.tsx";
import css from "./cards.module.css";
import { Fold } from "./Fold.tsx";
import { words } from "./words.ts";

/** A file that was made or changed: its name, and where to get it. */
export function FileLine({ file }: { file: FileChange }) {
  const t = useWords(words);
  const language = useLanguage();
  const sessionId = use(FilesOf);
  const isThere = file.change !== "deleted" && sessionId !== null && !file.path.startsWith("/");
  const address = isThere ? fileAddress(sessionId, file.path) : "";
  return (
    <div className={css.file}>
      <FileText size={15} aria-hidden />
      <FileName path={file.path} className={css.path} sessionId={isThere ? sessionId : null} />
      <Badge tone={file.change === "deleted" ? "warn" : "neutral"}>{t[file.change]}</Badge>
      {file.size !== null && <span className={css.faint}>{bytes(file.size, language)}</span>}
      {isThere && (
        <a href={address} download className={css.download} title={t.download(file.path)} aria-label={t.download(file.path)}>
          <Download size={15} aria-hidden />
        </a>
      )}
      {isThere && isPicture(file.path) && <Preview src={address} path={file.path} />}
    </div>
  );
}

/** A picture; where its machine is not there, only its name is left. */
function Preview({ src, path }: { src: string; path: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return null;
  return <img className={css.preview} src={src} alt={path} loading="lazy" onError={() => setBroken(true)} />;
}

/** What became of the files of a turn, each to be looked through. */
export function FileChanges({ files, foldKey }: { files: FileChange[]; foldKey: string }) {
  const t = useWords(words);
  if (files.length === 0) return null;
  const additions = files.reduce((sum, file) => sum + file.additions, 0);
  const deletions = files.reduce((sum, file) => sum + file.deletions, 0);
  const summary = (
    <>
      {t.filesChanged(files.length)} <DiffStat added={additions} removed={deletions} />
    </>
  );
  return (
    <Fold foldKey={foldKey} summary={summary} className={css.card}>
      {() => files.map((file) => <OneFile key={file.path} file={file} />)}
    </Fold>
  );
}

const NO_TEXT = /^(?:Binary file|$)/;

function OneFile({ file }: { file: FileChange }) {
  return (
    <>
      {!NO_TEXT.test(file.diff) && <Diff text={file.diff} path={file.path} />}
      <FileLine file={file} />
    </>
  );
}
