// Questions that have their answers, the newest first.
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { keys } from "../../api/keys";
import { QuestionCard } from "../../approvals";
import { askedOf } from "../../approvals/waiting";
import { useWords } from "../../i18n";
import { Button, Empty, ErrorNote, Spinner, Time } from "../../ui";
import css from "./inbox.module.css";
import { SessionHead } from "./SessionHead";
import { words } from "./words";

export function History() {
  const t = useWords(words);
  const found = useInfiniteQuery({
    queryKey: keys.approvals("answered"),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => {
      const query = { state: "answered" as const, order: "newest" as const, limit: 30, ...(pageParam && { cursor: pageParam }) };
      return unwrap(api.GET("/api/v1/approvals", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const answered = found.data?.pages.flatMap((page) => page.items);
  return (
    <div className={css.list}>
      {found.error !== null && <ErrorNote error={found.error} retry={() => void found.refetch()} />}
      {answered === undefined && found.error === null && <Spinner />}
      {answered?.length === 0 && <Empty title={t.noHistory}>{t.noHistoryHelp}</Empty>}
      {answered?.map((one) => (
        <section key={one.id} className={css.group}>
          <SessionHead sessionId={one.session_id} />
          <QuestionCard asked={askedOf(one)} place={<Time at={one.answered_at} />} />
        </section>
      ))}
      {found.hasNextPage && (
        <div>
          <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {t.more}
          </Button>
        </div>
      )}
    </div>
  );
}
