// What is shown of a session: rows in order, each with a key that never changes. A row is replaced
// when something of it changes and is never changed itself, so that what is the same is drawn once.

import type { Links } from "./blocks.ts";

export type Person = { id: string; name: string };

type Base = {
  key: string;
  /** The first event that it was made of. */
  eventId: number;
  turnId: string | null;
  ts: number | null;
  /** In a group: whose it is. */
  person: Person | null;
};

type Attachment = { name: string; mime: string };

/** `steer`: said to a turn that ran. `dropped`: that was stopped or failed before it was read. */
export type UserRow = Base & {
  kind: "user";
  content: string;
  attachments: Attachment[];
  userId: string | null;
  /** By which its files can be had: the turn that it opened, or its own id in one that ran. */
  messageId: string | null;
  steer: null | "waiting" | "taken" | "dropped";
  isImported: boolean;
};

/** One Markdown block of an answer. */
export type BlockRow = Base & {
  kind: "block";
  raw: string;
  isOpen: boolean;
  /** The last one of a turn's answer, behind which its actions stand. */
  isLast: boolean;
  links: Links;
  answer: Answer;
};

/** All of what was said in one go, for copying. */
export type Answer = { text: () => string };

export type ThinkingRow = Base & { kind: "thinking"; stage: string; text: string; isOpen: boolean };

export type FileChange = {
  path: string;
  change: "created" | "modified" | "deleted";
  diff: string;
  additions: number;
  deletions: number;
  size: number | null;
};

export type CallState = "running" | "done" | "failed" | "denied" | "stopped";

export type ToolRow = Base & {
  kind: "tool";
  callId: string | null;
  name: string;
  /** The name of the skill whose guide this call reads. */
  skill: string | null;
  input: unknown;
  /** What a call that runs has put out so far. */
  output: string;
  result: unknown;
  details: Record<string, unknown>;
  state: CallState;
  endedTs: number | null;
  files: FileChange[];
  /** The sub-agent that the call gave its task to, and all that it did. */
  agent: string | null;
  rows: readonly Row[];
};

export type TaskState = "pending" | "in_progress" | "completed";
export type PlanRow = Base & { kind: "plan"; tasks: { title: string; status: TaskState }[] };

type FileRow = Base & { kind: "file"; file: FileChange };

export type Resolution = {
  confirmed: boolean;
  answer: unknown;
  answeredBy: string | null;
  scope: string | null;
  reason: string | null;
};

/** `event`: the question as it stands in the log. */
export type QuestionRow = Base & {
  kind: "question";
  requestId: string;
  event: Record<string, unknown>;
  resolution: Resolution | null;
};

export type NoticeCode =
  | "compacted"
  | "not_compacted"
  | "gone"
  | "held"
  | "imported"
  | "lost"
  | "problems"
  | "degraded"
  | "message"
  | "closed"
  | "group";
export type NoticeRow = Base & {
  kind: "notice";
  code: NoticeCode;
  text: string;
  event: Record<string, unknown>;
};

/** In a group: from here on this person speaks. */
export type SpeakerRow = Base & { kind: "speaker"; lane: string; state: LaneState; by: string | null };

export type Usage = {
  calls: number;
  tokensIn: number;
  tokensOut: number;
  cost: { amount: number; currency: string } | null;
  models: string[];
};

export type TurnState = "running" | "completed" | "failed" | "cancelled";
export type EndRow = Base & {
  kind: "end";
  state: TurnState;
  error: string | null;
  code: string | null;
  usage: Usage | null;
  durationMs: number | null;
  /** What became of each file in this turn, all its changes together. */
  files: FileChange[];
};

export type Row =
  | UserRow
  | BlockRow
  | ThinkingRow
  | ToolRow
  | PlanRow
  | FileRow
  | QuestionRow
  | NoticeRow
  | SpeakerRow
  | EndRow;

type LaneState = "speaking" | "completed" | "failed" | "cancelled";

/** In a group: what one person said and did when asked. `rows` has no speaker in it. */
export type Lane = {
  key: string;
  person: Person;
  ask: number | null;
  /** Who asked, where another's answer did. */
  by: string | null;
  state: LaneState;
  error: string | null;
  usage: Usage | null;
  rows: readonly Row[];
};

export type Turn = {
  key: string;
  id: string | null;
  state: TurnState;
  startedTs: number | null;
  /** Everything in one thread, persons too. */
  rows: readonly Row[];
  lanes: readonly Lane[];
};

export type Command = { name: string; description: string };

/** What is known of the session beside what was said in it. */
export type Status = {
  machine: "online" | "offline" | "degraded" | "gone" | null;
  machineId: string | null;
  /** With `degraded`: names of functions that work and that do not. */
  works: string[];
  degraded: string[];
  problems: string[];
  /** A message waits for the machine. */
  isHeld: boolean;
  /** What the machine is busy with before it begins, in words. */
  note: string | null;
  commands: Command[];
  /** How to go on by hand. */
  resume: Record<string, unknown> | null;
  /** What the runtime says of itself: model, folder, modes. */
  ready: Record<string, unknown> | null;
  isClosed: boolean;
};

export type View = {
  turns: readonly Turn[];
  /** All rows of all turns. */
  rows: readonly Row[];
  /** Turns that have not ended. */
  running: readonly string[];
  /** Questions that wait for an answer. */
  questions: readonly QuestionRow[];
  plan: PlanRow | null;
  status: Status;
  lastId: number;
};
