// The languages that have colours, each a file of its own that is read when it is first wanted.

import type { DynamicImportLanguageRegistration } from "shiki/core";

export const LANGUAGES: Record<string, DynamicImportLanguageRegistration> = {
  bash: () => import("shiki/langs/bash.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  csharp: () => import("shiki/langs/csharp.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  ini: () => import("shiki/langs/ini.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  kotlin: () => import("shiki/langs/kotlin.mjs"),
  lua: () => import("shiki/langs/lua.mjs"),
  make: () => import("shiki/langs/make.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  php: () => import("shiki/langs/php.mjs"),
  powershell: () => import("shiki/langs/powershell.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  ruby: () => import("shiki/langs/ruby.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  scala: () => import("shiki/langs/scala.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  swift: () => import("shiki/langs/swift.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  vue: () => import("shiki/langs/vue.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

const NAMES: Record<string, string> = {
  cs: "csharp", cpp: "c", "c++": "c", cc: "c", h: "c", hpp: "c", jsx: "tsx", "c#": "csharp", dockerfile: "docker", golang: "go", htm: "html", js: "javascript",
  mjs: "javascript", cjs: "javascript", jsonc: "json", jsonl: "json", kt: "kotlin", makefile: "make", md: "markdown",
  patch: "diff", ps1: "powershell", py: "python", python3: "python", rb: "ruby", rs: "rust", sh: "bash", shell: "bash",
  shellscript: "bash", console: "bash", zsh: "bash", svg: "xml", ts: "typescript", mts: "typescript", yml: "yaml",
};

/** The name under which a language is known here, or null. */
export function languageOf(name: string): string | null {
  const lower = name.toLowerCase();
  const own = NAMES[lower] ?? lower;
  return Object.hasOwn(LANGUAGES, own) ? own : null;
}
