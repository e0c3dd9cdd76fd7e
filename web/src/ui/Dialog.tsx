// The browser's own modal dialog: it keeps the focus, closes with Escape, and gives the focus back.
import { X } from "lucide-react";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { useWords } from "../i18n";
import { Button, IconButton } from "./controls";
import css from "./dialog.module.css";
import { ErrorNote } from "./feedback";
import { cx } from "./cx";
import { words } from "./words";

export function Dialog(props: {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** Buttons at the bottom; the main one last. */
  actions?: ReactNode;
  wide?: boolean;
  /** Makes the content one form: Enter sends it. */
  onSubmit?: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const title = useId();
  const t = useWords(words);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) {
      dialog.showModal();
      // The browser would choose the button that closes it.
      dialog.querySelector<HTMLElement>("input, select, textarea")?.focus();
    }
    return () => dialog?.close();
  }, []);
  const content = (
    <>
      <div className={css.head}>
        <h2 id={title}>{props.title}</h2>
        <IconButton label={t.close} onClick={props.onClose}>
          <X size={18} />
        </IconButton>
      </div>
      <div className={css.body}>{props.children}</div>
      {props.actions && <div className={css.foot}>{props.actions}</div>}
    </>
  );
  return (
    <dialog
      ref={ref}
      aria-labelledby={title}
      className={cx(css.dialog, props.wide && css.wide)}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      {props.onSubmit ? (
        <form
          style={{ display: "contents" }}
          onSubmit={(event) => {
            event.preventDefault();
            props.onSubmit?.();
          }}
        >
          {content}
        </form>
      ) : (
        content
      )}
    </dialog>
  );
}

/** Asks before something that cannot be undone, says what will happen, and shows what went wrong. */
export function ConfirmDialog(props: {
  title: ReactNode;
  children: ReactNode;
  confirm: string;
  danger?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const t = useWords(words);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await props.onConfirm();
      props.onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      onSubmit={() => void confirm()}
      actions={
        <>
          <Button onClick={props.onClose}>{t.cancel}</Button>
          <Button type="submit" look={props.danger ? "danger" : "primary"} disabled={isBusy}>
            {props.confirm}
          </Button>
        </>
      }
    >
      {props.children}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}
