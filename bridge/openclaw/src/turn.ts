/**
 * One turn: OpenClaw is found, told what the person said, and heard to the end. It ends exactly
 * once, whatever comes first: the answer, an error, a cancel, the time that it may take.
 */

import { randomUUID } from "node:crypto";
import { RequestFailed } from "./bridge.ts";
import { Translator, type Names } from "./event-translator.ts";
import { GatewayError, GatewayLost, type Gateway } from "./gateway.ts";
import { asNumber, asObject, asText, isObject, wordsOf, type Json } from "./json.ts";
import { isBusy, patiently, pause, TRIES_MAX, until } from "./patience.ts";

const CANCEL_GRACE_MS = 5_000;
/** The gateway changed its record of the session meanwhile, and says to try again. */
const NOT_BEGUN = "SESSION_WORK_START_CHANGED";

/** A turn that cannot go on, for its readers. */
export class TurnFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A session of the gateway, ready for a run. */
export interface Place {
  gateway: Gateway;
  agentId: string;
  sessionKey: string;
  names: Names;
  /** Why the gateway is gone, in words. */
  whyGone: () => Promise<string>;
}

export interface Said {
  id: string;
  message: string;
  attachments: Json[];
  systemPrompt: string;
  thinking: string | undefined;
}

export interface Used {
  model: string;
  calls: number;
  tokensIn: number;
  tokensOut: number;
  cacheRead: number;
  costUsd: number | undefined;
}

export class Run {
  used: Used | undefined;
  private readonly place: Place;
  private translator: Translator;
  private readonly emit: (event: Json) => void;
  /** Chosen by us, so that it can be aborted before the gateway has said anything of it. */
  private runId: string = randomUUID();
  private wasHeard = false;

  constructor(place: Place, emit: (event: Json) => void) {
    this.place = place;
    this.emit = emit;
    this.translator = new Translator(place.names);
  }

  /** To its end; the final answer. Throws TurnFailed, or the signal's reason when aborted. */
  async to(said: Said, signal: AbortSignal): Promise<string> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.once(said, signal);
      } catch (error) {
        if (!this.isToRepeat(error) || tries === TRIES_MAX) throw error;
        await pause(tries, signal);
        this.runId = randomUUID();
        this.translator = new Translator(this.place.names);
      }
    }
  }

  /** It did not begin, or could not go on before anybody heard of it. */
  private isToRepeat(error: unknown): boolean {
    if (!(error instanceof TurnFailed)) return false;
    return error.message.includes(NOT_BEGUN) || (isBusy(error) && !this.wasHeard);
  }

  private async once(said: Said, signal: AbortSignal): Promise<string> {
    const { gateway, agentId, sessionKey } = this.place;
    const accepted = (payload: Json): void => {
      this.runId = asText(payload["runId"]) ?? this.runId;
    };
    const params: Json = {
      message: said.message,
      agentId,
      sessionKey,
      idempotencyKey: this.runId,
      deliver: false,
      ...(said.systemPrompt ? { extraSystemPrompt: said.systemPrompt } : {}),
      ...(said.attachments.length > 0 ? { attachments: said.attachments } : {}),
      ...(said.thinking === undefined ? {} : { thinking: said.thinking }),
    };
    const working = gateway.request("agent", params, accepted);
    working.catch(() => undefined); // looked at below, unless the turn is over before
    try {
      return this.answerOf(await until(working, signal));
    } catch (error) {
      if (signal.aborted) {
        await this.abort(working);
        throw signal.reason;
      }
      throw await this.failure(error);
    }
  }


  /** An `agent` event; of other runs, or after the end, nothing is shown. */
  take(payload: Json): void {
    if (payload["runId"] !== this.runId || payload["sessionKey"] !== this.place.sessionKey) return;
    for (const event of this.translator.translate(payload)) {
      this.wasHeard = true;
      this.emit(event);
    }
  }

  private async abort(working: Promise<Json>): Promise<void> {
    const { gateway, sessionKey } = this.place;
    // One that has hardly begun is known by its id alone; what it began besides, by the session.
    const aborts = [{ sessionKey, runId: this.runId }, { sessionKey }].map((what) =>
      patiently(() => gateway.request("chat.abort", what)).catch(() => undefined),
    );
    const late = new Promise((resolve) => setTimeout(resolve, CANCEL_GRACE_MS).unref());
    // The next turn must not run into this one.
    await Promise.race([Promise.all([...aborts, working.catch(() => undefined)]), late]);
  }

  private answerOf(payload: Json): string {
    const result = asObject(payload["result"]);
    const meta = asObject(asObject(result["meta"])["agentMeta"]);
    this.used = usedOf(meta);
    if (payload["status"] !== "ok") {
      const why = this.translator.end?.error ?? asText(payload["summary"]);
      throw new GatewayError("FAILED", why ?? "OpenClaw gave no reason");
    }
    const parts = Array.isArray(result["payloads"]) ? result["payloads"].filter(isObject) : [];
    const failed = parts.find((part) => part["isError"] === true);
    if (failed !== undefined) {
      throw new GatewayError("FAILED", asText(failed["text"]) ?? "OpenClaw gave no reason");
    }
    const text = parts.map((part) => asText(part["text"]) ?? "").filter((one) => one !== "");
    return text.join("\n\n") || this.translator.answer;
  }

  private async failure(error: unknown): Promise<TurnFailed> {
    // One that is stopping aborts its runs before it closes its connections.
    if (error instanceof GatewayLost || this.translator.end?.aborted === true) {
      return new TurnFailed("RUNTIME_CRASHED", await this.place.whyGone());
    }
    const words = this.translator.end?.error ?? wordsOf(error);
    return new TurnFailed(codeOf(words), words);
  }
}

/** What an error means, as far as its words tell. */
export function codeOf(words: string): string {
  if (/\b401\b|api key|authentication|unauthori[sz]ed/i.test(words)) return "MODEL_KEY_REFUSED";
  if (/\b429\b|rate limit|quota/i.test(words)) return "MODEL_RATE_LIMITED";
  if (/overloaded|\b529\b|\b503\b/i.test(words)) return "MODEL_OVERLOADED";
  if (/context (length|window|overflow)|prompt is too long/i.test(words)) return "MODEL_CONTEXT_FULL";
  if (/model.{0,60}(not found|does not exist)|unknown model/i.test(words)) return "MODEL_NOT_FOUND";
  return "RUNTIME_FAILED";
}

export function failureOf(error: unknown): TurnFailed {
  if (error instanceof TurnFailed) return error;
  if (error instanceof RequestFailed) return new TurnFailed(error.code, error.message);
  if (error instanceof GatewayLost) return new TurnFailed("RUNTIME_CRASHED", error.message);
  if (error instanceof GatewayError) return new TurnFailed("RUNTIME_FAILED", error.message);
  return new TurnFailed("TURN_FAILED", wordsOf(error));
}

function usedOf(meta: Json): Used | undefined {
  const usage = asObject(meta["usage"]);
  const input = asNumber(usage["input"]);
  if (input === undefined) return undefined;
  const cacheRead = asNumber(usage["cacheRead"]) ?? 0;
  const cost = asNumber(meta["costUsd"]);
  return {
    model: asText(meta["model"]) ?? "",
    calls: asNumber(meta["assistantTurns"]) ?? 1,
    tokensIn: input + cacheRead + (asNumber(usage["cacheWrite"]) ?? 0),
    tokensOut: asNumber(usage["output"]) ?? 0,
    cacheRead,
    costUsd: cost ? cost : undefined, // prices are not known to us: nought says nothing
  };
}
