// A unified diff as files, hunks and lines. Takes what git, difflib and agents' tools write: with or
// without `diff --git`, with or without file names.

export type DiffLine = {
  kind: "add" | "remove" | "same" | "note";
  text: string;
  /** Its number before and after; null where it is not there. */
  before: number | null;
  after: number | null;
};
export type DiffHunk = { head: string; lines: DiffLine[] };
export type DiffFile = {
  /** Null: it was not there, or the diff names no file. */
  before: string | null;
  after: string | null;
  change: "added" | "removed" | "renamed" | "changed";
  isBinary: boolean;
  hunks: DiffHunk[];
  added: number;
  removed: number;
};

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;
const BINARY = /^Binary files (.+) and (.+) differ$/;
const NOWHERE = "/dev/null";

export function parseDiff(text: string): DiffFile[] {
  return new Parser().read(text);
}

/** The name by which a file is known after the change; before it, where it was removed. */
export function nameOf(file: DiffFile): string {
  return file.after ?? file.before ?? "";
}

class Parser {
  private readonly files: DiffFile[] = [];
  private file: DiffFile | null = null;
  private hunk: DiffHunk | null = null;
  /** Lines that the hunk's head still promises: within them, `---` is a removed `--`. */
  private beforeLeft = 0;
  private afterLeft = 0;
  private beforeAt = 1;
  private afterAt = 1;

  read(text: string): DiffFile[] {
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at] ?? "";
      if (this.isInHunk()) this.body(line);
      else if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) {
        this.names(path(line.slice(4)), path(lines[++at]?.slice(4) ?? ""));
      } else this.head(line);
    }
    return this.files.filter((file) => file.hunks.length > 0 || file.isBinary || nameOf(file) !== "");
  }

  private isInHunk(): boolean {
    return this.hunk !== null && (this.beforeLeft > 0 || this.afterLeft > 0);
  }

  private head(line: string): void {
    const hunk = HUNK.exec(line);
    const binary = BINARY.exec(line);
    if (hunk) this.begin(hunk);
    else if (line.startsWith("diff --git ")) this.open(null, null);
    else if (binary) {
      this.names(path(binary[1] ?? ""), path(binary[2] ?? ""));
      if (this.file) this.file.isBinary = true;
    } else if (line.startsWith("GIT binary patch") && this.file) this.file.isBinary = true;
    else if (line.startsWith("rename from ") && this.file) this.rename(line.slice(12), null);
    else if (line.startsWith("rename to ") && this.file) this.rename(null, line.slice(10));
    else if (line.startsWith("\\") && this.hunk) this.note(line.slice(1).trim());
    else if (/^[+-]/.test(line) && this.hunk === null && !isGitHead(line)) this.bare(line);
    else if (this.hunk?.head === "") this.body(line);
  }

  private open(before: string | null, after: string | null): DiffFile {
    this.file = {
      before,
      after,
      change: "changed",
      isBinary: false,
      hunks: [],
      added: 0,
      removed: 0,
    };
    this.hunk = null;
    this.files.push(this.file);
    return this.file;
  }

  private names(before: string | null, after: string | null): void {
    const isFresh = this.file !== null && this.file.hunks.length === 0 && !this.file.isBinary;
    const isNamed = this.file?.change === "renamed" || (this.file && nameOf(this.file) === "");
    const file = this.file && isFresh && isNamed ? this.file : this.open(null, null);
    file.before = before;
    file.after = after;
    if (before === null) file.change = "added";
    else if (after === null) file.change = "removed";
    else if (before !== after) file.change = "renamed";
  }

  private rename(before: string | null, after: string | null): void {
    if (this.file === null) return;
    this.file.change = "renamed";
    if (before !== null) this.file.before = before;
    if (after !== null) this.file.after = after;
  }

  private begin(found: RegExpExecArray): void {
    const file = this.file ?? this.open(null, null);
    this.hunk = { head: found[0], lines: [] };
    file.hunks.push(this.hunk);
    this.beforeAt = Number(found[1]);
    this.afterAt = Number(found[3]);
    this.beforeLeft = found[2] === undefined ? 1 : Number(found[2]);
    this.afterLeft = found[4] === undefined ? 1 : Number(found[4]);
  }

  /** Lines without a head, as some tools write them. */
  private bare(line: string): void {
    const file = this.file ?? this.open(null, null);
    this.hunk = { head: "", lines: [] };
    file.hunks.push(this.hunk);
    this.beforeAt = this.afterAt = 1;
    this.body(line);
  }

  private body(line: string): void {
    const mark = line[0];
    if (mark === "+") this.push("add", line.slice(1));
    else if (mark === "-") this.push("remove", line.slice(1));
    else if (mark === "\\") this.note(line.slice(1).trim());
    else this.push("same", mark === " " ? line.slice(1) : line);
  }

  private push(kind: "add" | "remove" | "same", text: string): void {
    if (this.file === null || this.hunk === null) return;
    const isBefore = kind !== "add";
    const isAfter = kind !== "remove";
    this.hunk.lines.push({
      kind,
      text: text.endsWith("\r") ? text.slice(0, -1) : text,
      before: isBefore ? this.beforeAt++ : null,
      after: isAfter ? this.afterAt++ : null,
    });
    if (isBefore) this.beforeLeft--;
    if (isAfter) this.afterLeft--;
    if (kind === "add") this.file.added++;
    if (kind === "remove") this.file.removed++;
  }

  private note(text: string): void {
    this.hunk?.lines.push({ kind: "note", text, before: null, after: null });
  }
}

function isGitHead(line: string): boolean {
  return line.startsWith("--- ") || line.startsWith("+++ ");
}

/** Without `a/` and `b/`, the time that some write behind a tab, and quotes. */
function path(written: string): string | null {
  let name = written.split("\t")[0]?.trim() ?? "";
  if (name.startsWith('"') && name.endsWith('"')) name = name.slice(1, -1);
  if (name === NOWHERE) return null;
  return /^[ab]\//.test(name) ? name.slice(2) : name;
}
