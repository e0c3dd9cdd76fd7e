// Talk to the agents of a Trunkline server: typed routes, streams that resume, questions answered.
export { readAccountFrame, type AccountFrame, type LiveEvent, type News } from "./account.ts";
export { createApi, type Api, type Schemas } from "./api.ts";
export { platform, type Around } from "./around.ts";
export { Client, type ClientOptions } from "./client.ts";
export { ApiError, errorOf, StreamBroken, TurnFailed, unwrap } from "./errors.ts";
export type { Logged, SessionEvent, StreamOptions } from "./events.ts";
export { Line, type Asked, type LineOptions } from "./line.ts";
export { type AskOptions, type Attachment, type Reply, type SendOptions, type Sessions, type TurnOptions } from "./sessions.ts";
export { FrameReader, type Frame } from "./sse.ts";
export { endsTurn, type Answer } from "./turn.ts";
export type { components, operations, paths } from "./schema.ts";
