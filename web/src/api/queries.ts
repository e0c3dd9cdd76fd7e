// What was read is kept until the stream's news make it old; a refusal is not asked for again.
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./client";

const TRIES_MAX = 3;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) =>
        failures < TRIES_MAX && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      refetchOnWindowFocus: false,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});
