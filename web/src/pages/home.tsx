// The first address: the chats, or the welcome while there is none.
import { useQuery } from "@tanstack/react-query";
import { Navigate, useRouter } from "@tanstack/react-router";
import { api, unwrap } from "../api/client";
import { keys } from "../api/keys";
import { Unread, Waiting } from "../ui";

export default function HomePage() {
  const found = useQuery({
    queryKey: keys.sessions("any"),
    queryFn: () => unwrap(api.GET("/api/v1/sessions", { params: { query: { limit: 1 } } })),
  });
  // Whoever has chosen a place meanwhile, whose page is on its way, is not led elsewhere.
  const isLeft = useRouter().latestLocation.pathname !== "/";
  if (isLeft) return <Waiting />;
  if (found.data !== undefined) return <Navigate to={found.data.items.length > 0 ? "/chat" : "/welcome"} replace />;
  return <Unread of={found} />;
}
