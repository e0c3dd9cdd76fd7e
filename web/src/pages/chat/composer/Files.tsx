import { FileText, X } from "lucide-react";
import { useWords } from "../../../i18n";
import { IconButton, Spinner } from "../../../ui";
import { FORGOTTEN, type Attached } from "./attachments";
import css from "./composer.module.css";
import { words } from "./words";

export function Files({ files, onRemove }: { files: readonly Attached[]; onRemove: (key: string) => void }) {
  const t = useWords(words);
  if (files.length === 0) return null;
  return (
    <ul className={css.files}>
      {files.map((file) => (
        <li key={file.key} className={css.file} data-failed={file.error !== null || undefined}>
          {file.preview !== null ? (
            <img src={file.preview} alt="" className={css.preview} />
          ) : (
            <FileText size={16} aria-hidden />
          )}
          <span className={css.name} title={file.name}>
            {file.name}
          </span>
          {file.id === null && file.error === null && <Spinner label={t.uploading} />}
          {file.error !== null && (
            <span className={css.failure}>{file.error === FORGOTTEN ? t.uploadForgotten : t.uploadFailed}</span>
          )}
          <IconButton label={t.detach(file.name)} onClick={() => onRemove(file.key)}>
            <X size={14} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
