/**
 * A session: its settings, its turns one after the other, what it is told and asked meanwhile.
 * The gateway is looked for when the first turn needs it, never before.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Approvals, type Asking, type Verdict } from "./approvals.ts";
import { takeFiles } from "./attachments.ts";
import type { Daemon } from "./bridge.ts";
import type { Connect, Gateway } from "./gateway.ts";
import { keepGrants, readGrants } from "./grants.ts";
import { earlier } from "./history.ts";
import { asNumber, asObject, asText, isObject, wordsOf, type Json } from "./json.ts";
import { patiently, until } from "./patience.ts";
import { configOf, readSettings, type Settings } from "./settings.ts";
import { loadSkill, skillAt, type Skill } from "./skill-loader.ts";
import { ToolServer, type Use } from "./tool-server.ts";
import { failureOf, Run, TurnFailed, type Place, type Used } from "./turn.ts";

const QUEUED_MAX = 20;
const SKILLS_MAX = 200;
const EARLIER = "earlier.txt";
const GRANTED = "openclaw-granted.json"; // in the session's own folder, where its agent is not

export interface Surroundings {
  sessionId: string;
  skillsCache: string;
  memoryDir: string;
  connect: Connect;
  now: () => number;
}

interface Queued {
  id: string;
  data: Json;
}

export class Session {
  private readonly daemon: Daemon;
  private readonly around: Surroundings;
  private readonly approvals: Approvals;
  private readonly queue: Queued[] = [];
  private start: Json = {};
  private rules: unknown[] = [];
  private settings: Settings = readSettings({}, []);
  /** Those of the running turn. */
  private turnSettings: Settings = this.settings;
  private turnConfig: Json = {};
  private tools: ToolServer | undefined;
  private toolsUrl = "";
  private gateway: Gateway | undefined;
  private generation = -1;
  private prepared = "";
  private skills: Skill[] = [];
  private isNew = true;
  private isStopping = false;
  /** Done when nobody makes the gateway ready for a turn. */
  private placing: Promise<unknown> = Promise.resolve();
  private running: { id: string; stop: AbortController; done: Promise<void> } | undefined;
  private run: Run | undefined;

  constructor(daemon: Daemon, around: Surroundings) {
    this.daemon = daemon;
    this.around = around;
    const file = join(around.memoryDir, "..", GRANTED);
    this.approvals = new Approvals(readGrants(file), (grants) => keepGrants(file, grants));
  }

  /** `start`: what it has to do without, in words. */
  async open(start: Json): Promise<string[]> {
    const problems: string[] = [];
    this.start = { ...start, api_keys: {} }; // the gateway gets them from the daemon
    this.rules = Array.isArray(start["rules"]) ? [...start["rules"]] : [];
    this.settings = readSettings(start, problems);
    this.tools = new ToolServer(
      start["mcp_servers"],
      asText(start["workspace"]) ?? "",
      (method, params) => this.daemon.request(method, params),
      (method, params) => this.daemon.fireAndForget(method, params),
      (use) => this.permit(use),
      (words) => this.tell(words),
    );
    this.toolsUrl = await this.tools.open();
    const left = asText(start["turn_id"]);
    if (left !== undefined) {
      this.emit(left, "execution_error", { error: "The session ended in this turn.", code: "SESSION_CRASHED" });
    }
    return problems;
  }

  say(data: Json): void {
    const id = asText(data["turn_id"]) ?? "";
    if (this.queue.length >= QUEUED_MAX) {
      const error = "Too many messages wait for this session.";
      this.emit(id, "execution_error", { error, code: "TURN_QUEUE_FULL" });
      return;
    }
    this.queue.push({ id, data });
    this.next();
  }

  cancel(): void {
    this.running?.stop.abort(new Cancelled());
  }

  answer(data: Json): void {
    this.approvals.answer(data);
  }

  /** New settings, from the next turn on; new rules at once. */
  configure(data: Json): void {
    if (Array.isArray(data["rules"])) this.rules = [...data["rules"]];
    this.start = {
      ...this.start,
      session_config: { ...asObject(this.start["session_config"]), ...data },
    };
    const problems: string[] = [];
    this.settings = readSettings(this.start, problems);
    if (problems.length > 0) console.error(`config_update: ${problems.join("; ")}`);
  }

  /** Ends what runs, and tells of what waits. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const stopped = new TurnFailed("SESSION_STOPPED", "The session was stopped.");
    this.running?.stop.abort(stopped);
    await this.running?.done;
    for (const one of this.queue.splice(0)) {
      this.emit(one.id, "execution_error", { error: stopped.message, code: stopped.code });
    }
    this.gateway?.close();
    this.tools?.close();
  }

  private next(): void {
    if (this.running !== undefined || this.isStopping) return;
    const turn = this.queue.shift();
    if (turn === undefined) return;
    const stop = new AbortController();
    const done = this.turn(turn, stop).finally(() => {
      this.running = undefined;
      this.run = undefined;
      this.next();
    });
    this.running = { id: turn.id, stop, done };
  }

  private async turn({ id, data }: Queued, stop: AbortController): Promise<void> {
    const clock = this.limit(stop);
    try {
      const place = await until(this.placed(id, stop.signal), stop.signal);
      this.run = new Run(place, (event) => this.emit(id, asText(event["type"]) ?? "", event));
      const workspace = asText(this.start["workspace"]) ?? "";
      const files = await takeFiles(asObject(data["metadata"])["attachments"], workspace);
      const before = await this.earlier(data["history"]);
      const content = await this.run.to(
        {
          id,
          message: `${asText(data["message"]) ?? ""}${files.notes}` || "(nothing was said)",
          attachments: files.images,
          systemPrompt: [this.settings.systemPrompt, before].filter(Boolean).join("\n\n"),
          thinking: this.settings.thinking,
        },
        stop.signal,
      );
      this.isNew = false;
      this.approvals.withdraw("turn_ended");
      this.tellUsage(id, this.run.used);
      this.emit(id, "execution_complete", { content });
    } catch (error) {
      this.endBadly(id, error);
    } finally {
      clock.stop();
    }
  }

  /** What was said before OpenClaw knew of the session; kept, for it never learns it otherwise. */
  private async earlier(history: unknown): Promise<string> {
    const file = join(this.around.memoryDir, EARLIER);
    if (!this.isNew) return readFile(file, "utf8").catch(() => "");
    const note = earlier(history);
    if (note !== "") await writeFile(file, note, { mode: 0o600 });
    return note;
  }

  private endBadly(id: string, error: unknown): void {
    const isCancelled = error instanceof Cancelled;
    this.approvals.withdraw(isCancelled ? "cancelled" : "turn_ended");
    this.tellUsage(id, this.run?.used);
    if (isCancelled) {
      this.emit(id, "execution_complete", { content: "", cancelled: true });
      return;
    }
    const failure = failureOf(error);
    this.emit(id, "execution_error", { error: failure.message, code: failure.code });
  }

  /** One after the other: a turn that was cancelled meanwhile leaves its own under way. */
  private placed(turnId: string, signal: AbortSignal): Promise<Place> {
    const mine = this.placing.then(() => this.place(turnId, signal));
    this.placing = mine.catch(() => undefined);
    return mine;
  }

  /** The gateway and our session in it, made ready for the settings of now. */
  private async place(turnId: string, signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    const { daemon } = this;
    this.turnSettings = this.settings;
    this.turnConfig = configOf(this.start);
    const wanted = this.wanted(await this.loadSkills());
    const tell = (content: string): void => this.tell(content);
    const answer = asObject(await daemon.request("local.openclaw_gateway", wanted, tell));
    signal.throwIfAborted();
    const agentId = asText(answer["agent_id"]) ?? "";
    const sessionKey = `agent:${agentId}:main`;
    const gateway = await this.connected(answer);
    const key = `${this.generation} ${sessionKey}`;
    if (this.prepared !== key) {
      await patiently(() => guarded(gateway), signal);
      const overrides = { toolOverrides: { mcpServers: { [agentId]: true } } };
      const ask = (method: string, params: Json): Promise<Json> =>
        patiently(() => gateway.request(method, params), signal);
      await ask("sessions.create", { key: sessionKey, agentId, ...overrides });
      await ask("sessions.patch", { key: sessionKey, ...overrides });
      const past = await ask("chat.history", { sessionKey, limit: 1 });
      this.isNew = this.isNew && !(Array.isArray(past["messages"]) && past["messages"].length > 0);
      this.prepared = key;
    }
    const { skills, generation } = this;
    const prefix = `${agentId}__`;
    gateway.onEvent = (event, payload) => this.take(event, payload, turnId, agentId);
    return {
      gateway,
      agentId,
      sessionKey,
      names: {
        skillAt: (path) => skillAt(skills, path),
        toolName: (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name),
      },
      whyGone: async () =>
        asText(asObject(await daemon.request("local.openclaw_end", { generation }))["reason"]) ??
        "OpenClaw's gateway is gone",
    };
  }

  private wanted(skills: string[]): Json {
    const { settings } = this;
    return {
      session_id: this.around.sessionId,
      workspace: asText(this.start["workspace"]) ?? "",
      memory_dir: this.around.memoryDir,
      model: settings.model,
      temperature: settings.temperature ?? null,
      max_tokens: settings.maxTokens ?? null,
      tool_profile: settings.toolProfile,
      skills,
      tools_url: this.toolsUrl,
      tools_token: this.tools?.token ?? "",
    };
  }

  private async connected(answer: Json): Promise<Gateway> {
    const generation = asNumber(answer["generation"]) ?? 0;
    if (this.gateway?.isOpen && this.generation === generation) return this.gateway;
    this.gateway?.close();
    this.gateway = await this.around.connect(
      asText(answer["url"]) ?? "",
      asText(answer["token"]) ?? "",
    );
    this.generation = generation;
    return this.gateway;
  }

  private take(event: string, payload: Json, turnId: string, agentId: string): void {
    if (event === "agent") {
      this.run?.take(payload);
      return;
    }
    const asked = isObject(payload["request"]) ? payload["request"] : asObject(payload["question"] ?? payload);
    const isOurs = asked["agentId"] === agentId || (asText(asked["sessionKey"]) ?? "").startsWith(`agent:${agentId}:`);
    if (!isOurs || this.gateway === undefined || this.running?.id !== turnId) return;
    this.approvals.take(event, payload, this.gateway, this.asking(turnId));
  }

  /** Whether a tool may be used: by rules and mode, which the daemon knows; else by a person. */
  private async permit({ tool, input, toolCallId, paths, changes }: Use): Promise<Verdict> {
    const judged = asObject(
      await this.daemon.request("local.openclaw_judge", {
        tool_name: tool,
        tool_input: input,
        paths,
        changes: changes ?? null,
        config: this.turnConfig,
        rules: this.rules,
        workspace: asText(this.start["workspace"]) ?? "",
      }),
    );
    const why = asText(judged["why"]) ?? "";
    if (judged["outcome"] === "run") return { allowed: true, reason: "" };
    if (judged["outcome"] !== "ask") return { allowed: false, reason: why };
    if (this.run === undefined || this.running === undefined) {
      return { allowed: false, reason: "Nobody is there who could be asked." };
    }
    const rule = asText(judged["rule"]);
    const call = { tool, input, toolCallId, why, ...(rule === undefined ? {} : { rule }) };
    const verdict = await this.approvals.allows(call, this.asking(this.running.id));
    // It holds at once; then it comes with the others, until it is taken back.
    if (verdict.rule !== undefined) this.rules.push({ effect: "allow", rule: verdict.rule });
    return verdict;
  }

  private asking(turnId: string): Asking {
    return {
      emit: (type, fields) => this.emit(turnId, type, fields),
      audit: (name, details) =>
        this.daemon.fireAndForget("audit_log", { event: name, details: { ...details, turn_id: turnId } }),
      timeoutSeconds: this.turnSettings.approvalTimeoutSeconds,
    };
  }

  /** The names of the skills that this session may use; what is missing is fetched. */
  private async loadSkills(): Promise<string[]> {
    const index = Array.isArray(this.start["skill_index"]) ? this.start["skill_index"] : [];
    const loaded: Skill[] = [];
    for (const entry of index.filter(isObject).slice(0, SKILLS_MAX)) {
      try {
        const ask = (method: string, params: Json): Promise<unknown> => this.daemon.request(method, params);
        loaded.push(await loadSkill(entry, this.around.skillsCache, ask));
      } catch (error) {
        this.tell(`The skill ${asText(entry["name"]) ?? "?"} cannot be used: ${wordsOf(error)}`);
      }
    }
    this.skills = loaded;
    return [...new Set([...loaded.map((skill) => skill.name), ...(this.settings.skills ?? [])])];
  }

  private tellUsage(id: string, used: Used | undefined): void {
    const counted = {
      calls: used?.calls ?? 0,
      tokens_in: used?.tokensIn ?? 0,
      tokens_out: used?.tokensOut ?? 0,
    };
    const models = used
      ? { [used.model]: { ...counted, ...(used.cacheRead ? { cache_read_tokens: used.cacheRead } : {}) } }
      : {};
    const cost = used?.costUsd === undefined ? {} : { cost_usd: used.costUsd };
    this.emit(id, "usage", { ...counted, models, ...cost });
    if (used !== undefined) {
      const { tokensIn: tokens_in, tokensOut: tokens_out, model } = used;
      this.daemon.fireAndForget("usage_report", { model, tokens_in, tokens_out });
    }
  }

  /** Ends the turn when its time is up; waiting for a person is not counted. */
  private limit(stop: AbortController): { stop: () => void } {
    const seconds = this.settings.timeoutSeconds;
    let left = seconds * 1000;
    let since = this.around.now();
    const up = (): void =>
      stop.abort(new TurnFailed("TURN_TIMEOUT", `The turn took more than ${seconds} s.`));
    let timer = setTimeout(up, left);
    this.approvals.onWaiting = (isWaiting) => {
      clearTimeout(timer);
      const now = this.around.now();
      if (isWaiting) left -= now - since;
      else timer = setTimeout(up, Math.max(left, 0));
      since = now;
    };
    return {
      stop: () => {
        this.approvals.onWaiting = () => undefined;
        clearTimeout(timer);
      },
    };
  }

  /** How far it is, to whoever waits now: the turn that asked may be over. */
  private tell(content: string): void {
    if (this.running !== undefined) {
      this.emit(this.running.id, "thinking", { content, stage: "openclaw" });
    }
  }

  private emit(turnId: string, type: string, fields: Json): void {
    const turn = turnId === "" ? {} : { turn_id: turnId };
    this.daemon.event({ ...fields, type, ...turn, ts: this.around.now() });
  }
}

/** A person ended the turn. */
class Cancelled extends Error {}

/** Its tools ask nobody but our plugin: without that they are not used. */
async function guarded(gateway: Gateway): Promise<void> {
  const answer = await gateway.request("trunkline.guard", {});
  if (answer["guards"] === true) return;
  throw new TurnFailed("RUNTIME_FAILED", "This OpenClaw does not ask before it uses its tools.");
}
