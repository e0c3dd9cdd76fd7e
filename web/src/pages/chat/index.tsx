// All chats at the side, one of them open. On a phone one or the other is shown.
import { useParams } from "@tanstack/react-router";
import { Empty } from "../../ui";
import { useWords } from "../../i18n";
import { Chat } from "./Chat";
import css from "./chat.module.css";
import { ChatList } from "./list/ChatList";
import { words } from "./words";
import { useEffect } from "react";
import { setPageTitle } from "../../app/title";

export default function ChatPage() {
  const t = useWords(words);
  const openId = useParams({ strict: false }).sessionId ?? null;
  useEffect(() => {
    if (openId === null) setPageTitle(t.chats);
  }, [openId, t]);
  return (
    <div className={css.page} data-open={openId !== null || undefined}>
      <ChatList openId={openId} />
      {openId === null ? (
        <div className={css.main}>
          <Empty title={t.choose} />
        </div>
      ) : (
        <Chat sessionId={openId} />
      )}
    </div>
  );
}
