// What the rest of the page knows of the one stream that a browser holds.
import type { LiveEvent, News as ServerNews } from "@trunkline/client";

export type { LiveEvent } from "@trunkline/client";

export type Sink = {
  /** The newest id that the follower has; read again whenever the line comes back. */
  position: () => number;
  /** In order, each once; between two calls of one sink no event is missing. */
  onEvents: (events: LiveEvent[]) => void;
  /** What came after `position()` is no longer at hand: read it from the log. Live events go on. */
  onResync: () => void;
};

/** `connected`: the line is there (again), and whatever was read before may be old. */
export type News = ServerNews | { kind: "connected" };

/** `stranger`: the login has ended. */
export type Line = "connecting" | "live" | "offline" | "stranger";
