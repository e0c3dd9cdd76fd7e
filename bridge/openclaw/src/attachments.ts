/**
 * Files that came with a message: images go to the model, all others into the workspace, where
 * the model is told of them. Names and contents come from outside.
 */

import { randomBytes } from "node:crypto";
import { link, mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { asObject, asText, wordsOf, type Json } from "./json.ts";

const FILES_MAX = 20;
const FILES_CHARS_MAX = 8 * 1024 * 1024; // in base64, all of them together
const NAMESAKES_MAX = 1_000;
const FOLDER = "attachments";
const IMAGE = /^image\/[\w.+-]{1,60}$/;

export interface Files {
  images: Json[];
  /** What became of the others, for the model; mostly nothing. */
  notes: string;
}

/** `{name, mime, base64}` each, as `metadata.attachments` has them. */
export async function takeFiles(given: unknown, workspace: string): Promise<Files> {
  const images: Json[] = [];
  const notes: string[] = [];
  let room = FILES_CHARS_MAX;
  for (const [number, one] of (Array.isArray(given) ? given.slice(0, FILES_MAX + 1) : []).entries()) {
    const file = asObject(one);
    const name = safeName(asText(file["name"]) ?? "");
    const content = plain(asText(file["base64"]) ?? "");
    const mimeType = asText(file["mime"]) ?? "";
    room -= content.length;
    const isGood = content !== "" && /^[A-Za-z0-9+/]*={0,2}$/.test(content);
    if (!isGood || room < 0 || number >= FILES_MAX) {
      notes.push(`- ${name} could not be kept`);
    } else if (IMAGE.test(mimeType)) {
      images.push({ type: "image", mimeType, fileName: name, content });
    } else {
      notes.push(await noted(workspace, name, Buffer.from(content, "base64")));
    }
  }
  const said = notes.length > 0 ? `\n\nAttached files, in the workspace:\n${notes.join("\n")}` : "";
  return { images, notes: said };
}

async function noted(workspace: string, name: string, data: Buffer): Promise<string> {
  try {
    return `- ${FOLDER}/${await save(workspace, name, data)} (${data.length} bytes)`;
  } catch (error) {
    console.error(`an attachment was not kept: ${wordsOf(error)}`);
    return `- ${name} could not be kept`;
  }
}

/** Linked to its name when it is whole: a name that is taken is not taken twice. */
async function save(workspace: string, name: string, data: Buffer): Promise<string> {
  const folder = join(workspace, FOLDER);
  await mkdir(folder, { recursive: true });
  if (!(await realpath(folder)).startsWith(`${await realpath(workspace)}${sep}`)) {
    throw new Error(`${FOLDER} leads out of the workspace`);
  }
  const draft = join(folder, `.${randomBytes(8).toString("hex")}.tmp`);
  await writeFile(draft, data, { flag: "wx", mode: 0o644 });
  try {
    for (let number = 1; number < NAMESAKES_MAX; number++) {
      const wanted = number === 1 ? name : `${number}-${name}`;
      try {
        await link(draft, join(folder, wanted));
        return wanted;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
    }
    throw new Error("too many files have this name");
  } finally {
    await rm(draft, { force: true });
  }
}

/** The last part of a path as a plain name; what was harmful in it is gone. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const clean = last.replace(/[^\p{L}\p{N}.()+ _-]+/gu, "_").replace(/^[ .]+|[ .]+$/g, "");
  return clean.slice(-60) || "file";
}

function plain(base64: string): string {
  return base64.startsWith("data:") ? base64.slice(base64.indexOf(",") + 1) : base64;
}
