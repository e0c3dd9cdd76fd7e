import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { newSession } from "../../newSession";

/** Makes a chat and opens it. */
export function useMake() {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: newSession,
    onSuccess: ({ id: sessionId }) => navigate({ to: "/chat/$sessionId", params: { sessionId } }),
  });
}
