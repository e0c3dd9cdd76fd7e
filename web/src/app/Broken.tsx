// What is shown instead of a page that failed, that is not there, or that nobody is logged in to see.
import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { useWords } from "../i18n";
import { Button, buttonClass } from "../ui/controls";
import { Empty } from "../ui/feedback";
import { Inline } from "../ui/Inline";
import { words } from "./words";

export function Broken({ error }: ErrorComponentProps) {
  const t = useWords(words);
  return (
    <Empty title={t.broken} action={<Button onClick={() => location.reload()}>{t.reload}</Button>}>
      {t.brokenHelp}
      <br />
      <code>{error instanceof Error ? error.message : String(error)}</code>
    </Empty>
  );
}

export function NotFound() {
  const t = useWords(words);
  return (
    <Empty
      title={t.notFound}
      action={
        <Link to="/chat" className={buttonClass()}>
          {t.toChats}
        </Link>
      }
    >
      {t.notFoundHelp}
    </Empty>
  );
}

export function Stranger() {
  const t = useWords(words);
  return (
    <main>
      <Empty title={t.notLoggedIn}>
        <Inline text={t.logInHow} />
        <br />
        <Inline text={t.logInAgain} />
      </Empty>
    </main>
  );
}
