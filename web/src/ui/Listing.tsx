// A list as it is read: waiting, what went wrong, the empty state, the items, and more of them.
import type { ReactNode } from "react";
import type { Pages } from "../api/pages";
import { useWords } from "../i18n";
import { Button } from "./controls";
import { ErrorNote, Waiting } from "./feedback";
import { words } from "./words";

export function Listing<T>(props: {
  of: Pages<T>;
  /** What belongs here, and what to do. */
  empty: ReactNode;
  children: (items: T[]) => ReactNode;
}) {
  const t = useWords(words);
  const { items, error, more, isReadingMore, readAgain } = props.of;
  return (
    <>
      {error !== null && <ErrorNote error={error} retry={readAgain} />}
      {items === undefined && error === null && <Waiting />}
      {items?.length === 0 && props.empty}
      {items !== undefined && items.length > 0 && props.children(items)}
      {more !== null && (
        <Button onClick={more} disabled={isReadingMore}>
          {isReadingMore ? t.loading : t.more}
        </Button>
      )}
    </>
  );
}
