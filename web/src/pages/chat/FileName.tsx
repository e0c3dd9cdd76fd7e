// The name of a file of a chat: what is in it can be looked at, where it is.
import { useState } from "react";
import { keys } from "../../api/keys";
import { useWords } from "../../i18n";
import { fileAddress } from "../../markdown/links.ts";
import { BYTES_SHOWN, cx, Dialog, FilePicture, FileText } from "../../ui";
import css from "./chat.module.css";
import { words } from "./words";

const PICTURE = /\.(?:png|jpe?g|gif|webp|avif)$/i;

export const isPicture = (path: string) => PICTURE.test(path);

export function FileName(props: {
  path: string;
  className?: string | undefined;
  /** Null where the file cannot be had. */
  sessionId: string | null;
}) {
  const t = useWords(words);
  const [isOpen, setOpen] = useState(false);
  const { path, sessionId } = props;
  if (sessionId === null) return <span className={props.className}>{path}</span>;
  const address = fileAddress(sessionId, path);
  return (
    <>
      <button
        type="button"
        className={cx(css.fileName, props.className)}
        title={t.look(path)}
        onClick={() => setOpen(true)}
      >
        {path}
      </button>
      {isOpen && (
        <Dialog title={path.split("/").at(-1)} wide onClose={() => setOpen(false)}>
          {isPicture(path) ? (
            <FilePicture path={path} address={address} />
          ) : (
            <FileText
              path={path}
              address={address}
              part={`${address}?length=${BYTES_SHOWN}`}
              queryKey={[...keys.session(sessionId), "file", path]}
            />
          )}
        </Dialog>
      )}
    </>
  );
}
