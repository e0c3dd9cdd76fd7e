// Files that go with the next message: uploaded while it is written, checked before. Those of a chat's
// draft stay, and go on arriving, while another chat is looked at; over a reload those that arrived.
import { useSyncExternalStore } from "react";
import { api, fetched, unwrap } from "../../../api/client";
import { wordsNow } from "../../../i18n";
import { isPictureType } from "../../../markdown/links.ts";
import { draftFilesOf, isForgotten, keepDraftFiles, type Uploaded } from "./drafts";
import { freshId } from "./ids";
import { words } from "./words";

const FILES_MAX = 20;
const BYTES_MAX = 6 * 1024 * 1024;

export type Attached = {
  key: string;
  name: string;
  size: number;
  /** An address of the picture in this page; null for what is none. */
  preview: string | null;
  /** How the server calls it; null while it is on its way, or where it did not come. */
  id: string | null;
  /** When it was uploaded. */
  at: number;
  error: unknown;
};

/** The server has it no more, nor has this page. */
export const FORGOTTEN = "forgotten";

type State = { files: readonly Attached[]; problem: string | null };

/** `sent`: they are on their way, and what came since stays for the next message. */
type Ready = { files: Uploaded[]; sent: () => void };

/** A file of a message that was sent. */
export type SentFile = { name: string; mime: string; address: string };

export class Attachments {
  private state: State = { files: [], problem: null };
  private readonly listeners = new Set<() => void>();
  /** What was uploaded, to do it once more. */
  private readonly contents = new Map<string, File>();
  private readonly keptAs: string | null;

  /** `keptAs`: the chat whose draft they belong to. */
  constructor(keptAs: string | null = null) {
    this.keptAs = keptAs;
    if (keptAs !== null) this.take(draftFilesOf(keptAs));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly view = (): State => this.state;

  readonly add = (given: Iterable<File>): void => {
    const chosen = [...given];
    const problem = problemWith(this.state.files, chosen);
    this.set({ problem });
    if (problem !== null) return;
    for (const file of chosen) {
      const name = file.name || "file";
      this.begin({ name, size: file.size, preview: previewOf(file) }, async () => file);
    }
  };

  /** Of a message that is said again: its files come from where they are kept. */
  readonly carry = (sent: readonly SentFile[]): void => {
    for (const { name, mime, address } of sent) {
      const preview = isPictureType(mime) ? address : null;
      this.begin({ name, size: 0, preview }, async () => {
        const content = await (await fetched(address)).blob();
        return new File([content], name, { type: mime });
      });
    }
  };

  /** Of an earlier visit, or of a message that could not be sent. */
  readonly take = (uploaded: readonly Uploaded[], isRefused = false): void => {
    const taken = uploaded.map(({ id, name, size, at }): Attached => {
      const isGone = isRefused || isForgotten({ at }, Date.now());
      const state = isGone ? { id: null, error: FORGOTTEN } : { id, error: null };
      return { key: freshId(), name, size, at, preview: null, ...state };
    });
    this.set({ files: [...this.state.files, ...taken] });
  };

  /** What is here goes with the message; null where something cannot: that is said beside it. What the
   * server has forgotten meanwhile is uploaded once more. */
  readonly ready = async (): Promise<Ready | null> => {
    const going = new Set(this.state.files.map((one) => one.key));
    for (const one of this.state.files) {
      if (one.id === null || !isForgotten(one, Date.now())) continue;
      const content = this.contents.get(one.key);
      if (content === undefined) this.settle(one.key, { id: null, error: FORGOTTEN });
      else this.settle(one.key, { id: await upload(content), at: Date.now() });
    }
    const chosen = this.state.files.filter((one) => going.has(one.key));
    const files = uploadedOf(chosen);
    const sent = () => chosen.forEach((one) => this.remove(one.key));
    return files.length === chosen.length ? { files, sent } : null;
  };

  readonly remove = (key: string): void => {
    this.contents.delete(key);
    this.state.files.filter((one) => one.key === key).forEach(release);
    this.set({ problem: null, files: this.state.files.filter((one) => one.key !== key) });
  };

  private begin(about: Pick<Attached, "name" | "size" | "preview">, content: () => Promise<File>): void {
    const one: Attached = { ...about, key: freshId(), id: null, at: 0, error: null };
    this.set({ files: [...this.state.files, one] });
    content()
      .then(async (file) => {
        const id = await upload(file);
        if (!this.state.files.some(({ key }) => key === one.key)) return; // it was taken out
        this.contents.set(one.key, file);
        this.settle(one.key, { size: file.size, id, at: Date.now() });
      })
      .catch((error: unknown) => this.settle(one.key, { error }));
  }

  private settle(key: string, change: Partial<Attached>): void {
    this.set({ files: this.state.files.map((each) => (each.key === key ? { ...each, ...change } : each)) });
  }

  private set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    if (this.keptAs !== null && change.files) keepDraftFiles(this.keptAs, uploadedOf(change.files));
    for (const listener of this.listeners) listener();
  }
}

const drafts = new Map<string, Attachments>();

/** Those of a chat's draft. */
export function attachmentsOf(sessionId: string): Attachments {
  let known = drafts.get(sessionId);
  if (known === undefined) {
    known = new Attachments(sessionId);
    drafts.set(sessionId, known);
  }
  return known;
}

export function useAttachments(of: Attachments) {
  const { files, problem } = useSyncExternalStore(of.subscribe, of.view);
  return { files, problem, add: of.add, take: of.take, ready: of.ready, remove: of.remove };
}

function uploadedOf(files: readonly Attached[]): Uploaded[] {
  return files.flatMap(({ id, name, size, at }) => (id === null ? [] : [{ id, name, size, at }]));
}

function problemWith(present: readonly { size: number }[], chosen: readonly File[]): string | null {
  const t = wordsNow(words);
  const files = [...present, ...chosen];
  if (files.length > FILES_MAX) return t.tooMany(FILES_MAX);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size > BYTES_MAX) return t.tooLarge(BYTES_MAX / 1024 / 1024);
  return chosen.some((file) => file.size === 0) ? t.emptyFile : null;
}

function previewOf(file: File): string | null {
  return isPictureType(file.type) ? URL.createObjectURL(file) : null;
}

/** The address of one that is kept elsewhere is left as it is. */
function release(file: { preview: string | null }): void {
  if (file.preview !== null) URL.revokeObjectURL(file.preview);
}

async function upload(file: File): Promise<string> {
  const form = new FormData();
  form.append("files", file, file.name || "file");
  const uploaded = await unwrap(
    api.POST("/api/v1/uploads", { body: form as never, bodySerializer: (body) => body as unknown as FormData }),
  );
  const id = uploaded.items[0]?.id;
  if (id === undefined) throw new Error("no id");
  return id;
}
