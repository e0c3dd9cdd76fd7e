// Sessions: talk to one, follow it, answer its questions.
import { readAccountFrame } from "./account.ts";
import type { Api, Schemas } from "./api.ts";
import { ApiError, unwrap } from "./errors.ts";
import { endsIfFinal, follow, logged, type Logged, type Source, type StreamOptions } from "./events.ts";
import { Line } from "./line.ts";
import { Turn, type Answer } from "./turn.ts";

type Session = Schemas["Session"];
type Approval = Schemas["Approval"];

/** To a question: yes or no in short, more in it, or null to leave it to somebody else. */
export type Reply = boolean | null | Omit<Schemas["ApprovalAnswer"], "session_id">;

export type Attachment = { name: string; content: Blob | Uint8Array<ArrayBuffer> | string };

export type SendOptions = {
  /** Your own name for the message: said twice under it, it is said once. */
  clientMessageId?: string;
  attachmentIds?: readonly string[];
  metadata?: Record<string, unknown>;
  whenBusy?: Schemas["NewMessage"]["when_busy"];
};

export type TurnOptions = {
  files?: readonly Attachment[];
  metadata?: Record<string, unknown>;
  whenBusy?: "queue" | "replace";
  signal?: AbortSignal;
};

export type AskOptions = TurnOptions & {
  onQuestion?: (question: Logged["event"] & Record<string, unknown>) => Reply | Promise<Reply>;
};

const WAITS_MS = [100, 200, 500, 1_000, 2_000, 5_000] as const;
const ATTEMPTS_MAX = 12;
/** Events before the last one: a session that was idle a moment ago may have begun another turn. */
const LOOK_BACK = 20;

/** `client.sessions`. */
export class Sessions {
  private readonly api: Api;
  private readonly source: Source;
  private readonly accountAddress: string;

  constructor(api: Api, source: Source, accountAddress: string) {
    this.api = api;
    this.source = source;
    this.accountAddress = accountAddress;
  }

  create(choices: Schemas["NewSession"] = {}): Promise<Session> {
    return unwrap(this.api.POST("/api/v1/sessions", { body: choices }));
  }

  get(sessionId: string): Promise<Session> {
    return unwrap(this.api.GET("/api/v1/sessions/{session_id}", at(sessionId)));
  }

  async close(sessionId: string): Promise<void> {
    await unwrap(this.api.DELETE("/api/v1/sessions/{session_id}", at(sessionId)));
  }

  /** Says something and waits for the answer; throws TurnFailed. `onQuestion` says what to reply to
   * an `approval_request`; without it somebody else has to. */
  async ask(sessionId: string, message: string, { onQuestion, ...options }: AskOptions = {}): Promise<Answer> {
    let turn: Turn | null = null;
    for await (const said of this.said(sessionId, message, options)) {
      turn = said.turn;
      const event = said.logged.event as Logged["event"] & Record<string, unknown>;
      if (event.type !== "approval_request" || onQuestion === undefined) continue;
      const reply = await onQuestion(event);
      const name = event["request_id"] ?? event["approval_id"];
      if (reply !== null && typeof name === "string") await this.reply(sessionId, name, reply);
    }
    if (turn === null) throw new Error("a turn has at least its end");
    return turn.answer();
  }

  /** Says something and gives the events of that turn as they come, to its end. */
  async *turn(sessionId: string, message: string, options: TurnOptions = {}): AsyncGenerator<Logged, void, void> {
    for await (const { logged } of this.said(sessionId, message, options)) yield logged;
  }

  /** The id of the turn, at once. A message whose response was lost is sent again for some seconds,
   * under the same name, which has no effect. */
  async send(sessionId: string, message: string, options: SendOptions = {}): Promise<string> {
    const body: Schemas["NewMessage"] = {
      message,
      client_message_id: options.clientMessageId ?? newName(),
      attachment_ids: [...(options.attachmentIds ?? [])],
      ...(options.metadata && { metadata: options.metadata }),
      ...(options.whenBusy && { when_busy: options.whenBusy }),
    };
    const path = at(sessionId);
    const accepted = await this.surely(() =>
      unwrap(this.api.POST("/api/v1/sessions/{session_id}/messages", { ...path, body })),
    );
    return accepted.turn_id;
  }

  /** Ids by which the next message can name these files. */
  async upload(files: readonly Attachment[]): Promise<string[]> {
    if (files.length === 0) return [];
    const form = new FormData();
    for (const { name, content } of files) {
      form.append("files", content instanceof Blob ? content : new Blob([content]), name);
    }
    const uploaded = await unwrap(
      this.api.POST("/api/v1/uploads", { body: {}, bodySerializer: () => form }),
    );
    return uploaded.items.map((one) => one.id);
  }

  async cancel(sessionId: string, reason?: string): Promise<void> {
    const body = reason === undefined ? {} : { reason };
    await unwrap(this.api.POST("/api/v1/sessions/{session_id}/cancel", { ...at(sessionId), body }));
  }

  /** Everything that happens, live: each event once and in order, whatever becomes of the connection.
   * Ends with an error only, or when it is left or aborted. */
  stream(sessionId: string, options: StreamOptions = {}): AsyncGenerator<Logged, void, void> {
    return follow(this.source, sessionId, options);
  }

  /** The log up to now. */
  events(sessionId: string, after = 0): AsyncGenerator<Logged, void, void> {
    return logged(this.source, sessionId, after);
  }

  /** What waits for an answer, in this session or in any. */
  async approvals(sessionId?: string): Promise<Approval[]> {
    const found: Approval[] = [];
    let cursor: string | undefined;
    do {
      const query = { ...(sessionId && { session_id: sessionId }), ...(cursor && { cursor }) };
      const page = await unwrap(this.api.GET("/api/v1/approvals", { params: { query } }));
      found.push(...page.items);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    return found;
  }

  /** Every question that waits or comes to wait, once, in this session or in any. */
  async *watchApprovals(
    { sessionId, signal }: { sessionId?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<Approval, void, void> {
    const { around, headers } = this.source;
    const ask = () => ({ address: this.accountAddress, headers });
    const line = new Line({ around, ask, onRefusal: endsIfFinal, attemptsMax: ATTEMPTS_MAX });
    const stop = () => line.stop();
    signal?.throwIfAborted();
    signal?.addEventListener("abort", stop);
    let seen = new Set<string>();
    try {
      for await (const frames of line) {
        for (const frame of frames) {
          const taken = readAccountFrame(frame);
          let found: Approval[] = [];
          if (taken?.kind === "hello") {
            // News are not kept for who was away: the list is.
            found = await this.approvals(sessionId);
            seen = new Set(found.map((one) => one.id).filter((id) => seen.has(id)));
            line.begun(taken.heartbeatS);
          } else if (taken?.kind === "news" && taken.news.kind === "approval") found = [taken.news.approval];
          for (const one of found) {
            if (sessionId !== undefined && one.session_id !== sessionId) continue;
            if (one.state !== "pending") seen.delete(one.id);
            else if (!seen.has(one.id)) {
              seen.add(one.id);
              yield one;
            }
          }
        }
      }
      signal?.throwIfAborted();
    } finally {
      signal?.removeEventListener("abort", stop);
      line.stop();
    }
  }

  /** By the approval's id, or, with its session, by the `request_id` of its event. */
  answer(approvalId: string, answer: Schemas["ApprovalAnswer"]): Promise<Approval> {
    const params = { path: { approval_id: approvalId } };
    return unwrap(this.api.POST("/api/v1/approvals/{approval_id}", { params, body: answer }));
  }

  private async reply(sessionId: string, requestId: string, reply: NonNullable<Reply>): Promise<void> {
    const body = typeof reply === "boolean" ? { confirmed: reply } : reply;
    try {
      // What was answered before a response was lost is said to be so.
      await this.surely(() => this.answer(requestId, { ...body, session_id: sessionId }));
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "ALREADY_ANSWERED")) throw error;
    }
  }

  /** Calls again while it is unknown what became of it. */
  private async surely<T>(call: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        const waitMs = WAITS_MS[attempt];
        if (!(error instanceof ApiError) || !error.isOpen || waitMs === undefined) throw error;
        await new Promise<void>((resolve) => this.source.around.after(waitMs, resolve));
      }
    }
  }

  /** The turns that are open, the oldest first, at a position. A snapshot's turns may be newer than its
   * position: two that agree are not. */
  private async openTurns(sessionId: string): Promise<{ ahead: string[]; after: number }> {
    for (let before: string | null = null; ; ) {
      const now = await unwrap(this.api.GET("/api/v1/sessions/{session_id}/snapshot", at(sessionId)));
      const open = now.turns.filter((one) => one.state === "queued" || one.state === "sent");
      const ahead = open.map((one) => one.id);
      if (ahead.join() === before) return { ahead, after: now.last_event_id };
      before = ahead.join();
    }
  }

  private async *said(
    sessionId: string,
    message: string,
    { files = [], metadata, whenBusy, signal }: TurnOptions,
  ): AsyncGenerator<{ turn: Turn; logged: Logged }, void, void> {
    const attachmentIds = await this.upload(files);
    const session = await this.get(sessionId);
    const from =
      session.state === "idle"
        ? { ahead: [], after: Math.max(0, session.last_event_id - LOOK_BACK) }
        : await this.openTurns(sessionId);
    const turnId = await this.send(sessionId, message, {
      attachmentIds,
      ...(metadata && { metadata }),
      ...(whenBusy && { whenBusy }),
    });
    const turn = new Turn(turnId, from.ahead);
    const options = { after: from.after, ...(signal && { signal }) };
    for await (const one of follow(this.source, sessionId, options, false)) {
      if (turn.take(one)) yield { turn, logged: one };
      if (turn.isOver) return;
    }
  }
}

function at(sessionId: string) {
  return { params: { path: { session_id: sessionId } } };
}

/** Also where a page has no secure place, and so no `randomUUID`. */
function newName(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
