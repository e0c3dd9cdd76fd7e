// Files that go with the next message: uploaded while it is written, checked before.
import { useCallback, useEffect, useRef, useState } from "react";
import { api, unwrap } from "../../../api/client";
import { wordsNow } from "../../../i18n";
import { isPictureType } from "../../../markdown/links.ts";
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
  /** How the server calls it; null while it is on its way. */
  id: string | null;
  error: unknown;
};

export function useAttachments() {
  const [files, setFiles] = useState<readonly Attached[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const shown = useRef(files);
  shown.current = files;
  useEffect(() => () => shown.current.forEach(release), []);

  const add = useCallback((given: Iterable<File>) => {
    const chosen = [...given];
    const problemNow = problemWith([...shown.current, ...chosen]);
    setProblem(problemNow);
    if (problemNow !== null) return;
    for (const file of chosen) {
      const one = { key: freshId(), name: file.name || "file", size: file.size, preview: previewOf(file) };
      setFiles((before) => [...before, { ...one, id: null, error: null }]);
      const settle = (change: Partial<Attached>) =>
        setFiles((now) => now.map((each) => (each.key === one.key ? { ...each, ...change } : each)));
      upload(file).then(
        (id) => settle({ id }),
        (error: unknown) => settle({ error }),
      );
    }
  }, []);
  const remove = useCallback((key: string) => {
    setProblem(null);
    setFiles((before) => {
      before.filter((one) => one.key === key).forEach(release);
      return before.filter((one) => one.key !== key);
    });
  }, []);
  /** They were sent. */
  const clear = useCallback(() => {
    shown.current.forEach(release);
    setProblem(null);
    setFiles([]);
  }, []);
  return { files, problem, add, remove, clear };
}

function problemWith(files: readonly { size: number }[]): string | null {
  const t = wordsNow(words);
  if (files.length > FILES_MAX) return t.tooMany(FILES_MAX);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size > BYTES_MAX) return t.tooLarge(BYTES_MAX / 1024 / 1024);
  return files.some((file) => file.size === 0) ? t.emptyFile : null;
}

function previewOf(file: File): string | null {
  return isPictureType(file.type) ? URL.createObjectURL(file) : null;
}

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
