/**
 * Skills from the cache that all sessions of the machine share; a missing one is fetched through
 * the daemon. `<id>` is a link to `.packages/<id>/<version>`, or a folder that a person put there.
 */

import { createHash, randomBytes } from "node:crypto";
import {
  chmod, lstat, mkdir, readFile, readlink, realpath, rename, rm, stat, symlink, writeFile,
} from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { asObject, asText, isObject, type Json } from "./json.ts";

const FILES_MAX = 1_000;
const PATH_CHARS_MAX = 500;
const DEPTH_MAX = 10;
const PACKAGE_BYTES_MAX = 50 * 1024 * 1024;
const LATEST = "latest";
const PLAIN_VERSION = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;
// eslint-disable-next-line no-control-regex
const BAD_NAME = /[/\\\x00-\x1f\x7f:]|^[.\s]|[.\s]$/;

export type Ask = (method: string, params: Json) => Promise<unknown>;

/** A skill that is here. `name` is what its guide calls it, which is what OpenClaw knows it by. */
export interface Skill {
  id: string;
  name: string;
  folder: string;
}

/** Finds or fetches one skill of the index. Throws, with words for people. */
export async function loadSkill(entry: Json, cache: string, ask: Ask): Promise<Skill> {
  const id = asText(entry["id"]) ?? asText(entry["name"]) ?? "";
  if (id === "" || id.length > 200 || BAD_NAME.test(id) || id === LATEST) {
    throw new Error("a skill's id is no folder name");
  }
  const version = asText(entry["version"]) || LATEST;
  const link = join(cache, id);
  if (await isSomebodys(link)) return skillIn(id, link);
  const kept = version === LATEST ? link : join(cache, ".packages", id, folderOf(version));
  if (!(await hasGuide(kept))) await fetchPackage(id, version, cache, ask);
  else if (version !== LATEST) await show(link, kept);
  return skillIn(id, link);
}

async function fetchPackage(id: string, version: string, cache: string, ask: Ask): Promise<void> {
  const answer = await ask("get_skill_package", { skill_id: id, version });
  const found = asObject(answer)["package"];
  if (!isObject(found)) throw new Error(`the control plane has no skill ${id}`);
  const sent = asText(found["version"]) || version;
  if (version !== LATEST && sent !== version) {
    throw new Error(`version ${version} of ${id} was asked for and version ${sent} came`);
  }
  const files = checkedFiles(found["files"]);
  const shelf = join(cache, ".packages", id);
  const target = join(shelf, folderOf(sent));
  const draft = join(shelf, `.new-${randomBytes(8).toString("hex")}`);
  try {
    for (const [path, content] of files) {
      const file = join(draft, path);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, content, { flag: "wx" });
      await chmod(file, content.subarray(0, 2).toString() === "#!" ? 0o755 : 0o644);
    }
    await rename(draft, target);
  } catch (error) {
    // Another session may have been faster; its copy is as good as ours.
    if (!(await hasGuide(target))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  await show(join(cache, id), target);
}

/** The files of a package by path, with SKILL.md among them, all of them below its folder. */
export function checkedFiles(given: unknown): Map<string, Buffer> {
  if (!Array.isArray(given)) throw new Error("the package has no list of files");
  if (given.length > FILES_MAX) throw new Error(`the package has more than ${FILES_MAX} files`);
  const files = new Map<string, Buffer>();
  let total = 0;
  for (const one of given) {
    const path = checkedPath(asObject(one)["path"]);
    if (files.has(path)) throw new Error(`${path} occurs twice`);
    const content = asText(asObject(one)["content"]);
    if (content === undefined) throw new Error(`${path} has no content`);
    const encoding = asObject(one)["encoding"] === "base64" ? "base64" : "utf8";
    const bytes = Buffer.from(content, encoding);
    total += bytes.length;
    if (total > PACKAGE_BYTES_MAX) throw new Error("the package is too large");
    files.set(path, bytes);
  }
  if (!files.has("SKILL.md")) throw new Error("the package has no SKILL.md");
  return files;
}

function checkedPath(path: unknown): string {
  if (typeof path !== "string" || path === "" || path.length > PATH_CHARS_MAX) {
    throw new Error("a path is missing, or too long");
  }
  const parts = path.split("/");
  const isBad = (part: string): boolean =>
    part === "" || part === "." || part === ".." || /[\\\x00-\x1f\x7f:]/.test(part);
  if (parts.length > DEPTH_MAX || parts.some(isBad)) {
    throw new Error(`the path ${JSON.stringify(path.slice(0, 100))} is not allowed`);
  }
  return path;
}

/** Which of these skills has its guide at a path, however the path is written. */
export function skillAt(skills: Skill[], path: string): string | undefined {
  const wanted = resolve(path);
  const found = skills.find((one) => wanted === join(one.folder, "SKILL.md"));
  if (found !== undefined) return found.name;
  const parts = wanted.split(sep);
  // OpenClaw's own skills lie in its package.
  return parts.at(-1) === "SKILL.md" && parts.at(-3) === "skills" ? parts.at(-2) : undefined;
}

async function skillIn(id: string, folder: string): Promise<Skill> {
  const guide = await readFile(join(folder, "SKILL.md"), "utf8");
  const front = /^---\r?\n([\s\S]*?)\r?\n---/.exec(guide)?.[1] ?? "";
  const name = /^name:[ \t]*(.+)$/m.exec(front)?.[1]?.trim().replace(/^(["'])(.*)\1$/, "$2");
  return { id, name: name || id, folder };
}

/** Makes `<id>` mean this version, in one step. */
async function show(link: string, folder: string): Promise<void> {
  const present = await readlink(link).catch(() => undefined);
  const wanted = relative(await realpath(dirname(link)), folder);
  if (present === wanted) return;
  const draft = `${folder}.${randomBytes(4).toString("hex")}.link`;
  await symlink(relative(dirname(link), folder), draft);
  await rename(draft, link).catch(async (error: unknown) => {
    await rm(draft, { force: true });
    throw error;
  });
}

function folderOf(version: string): string {
  if (PLAIN_VERSION.test(version)) return version;
  return `v-${createHash("sha256").update(version).digest("hex").slice(0, 16)}`;
}

async function hasGuide(folder: string): Promise<boolean> {
  const found = await stat(join(folder, "SKILL.md")).catch(() => undefined);
  return found?.isFile() === true;
}

async function isSomebodys(link: string): Promise<boolean> {
  const found = await lstat(link).catch(() => undefined);
  return found?.isDirectory() === true && (await hasGuide(link));
}
