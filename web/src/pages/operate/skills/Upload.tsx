// A place where a zip can be dropped, around the list; or chosen with a button.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { FileUp } from "lucide-react";
import { useRef, useState, type DragEvent, type ReactNode } from "react";
import { errorOf, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords, wordsNow } from "../../../i18n";
import { Button, cx, ErrorNote, toast } from "../../../ui";
import css from "./skills.module.css";
import { words } from "./words";

export function Upload({ children }: { children: ReactNode }) {
  const t = useWords(words);
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const uploading = useMutation({
    mutationFn: send,
    onSuccess: async (skill) => {
      toast(t.uploaded(skill.name, skill.version));
      await client.invalidateQueries({ queryKey: keys.skills() });
    },
  });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file) uploading.mutate(file);
  };
  return (
    <div
      className={css.place}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={drop}
    >
      <div className={cx(css.drop, isOver && css.over)}>
        <FileUp size={20} aria-hidden />
        <span>
          <strong>{t.drop}</strong>
          <br />
          {t.dropHint}
        </span>
        <Button disabled={uploading.isPending} onClick={() => input.current?.click()}>
          {uploading.isPending ? t.uploading : t.upload}
        </Button>
        <input
          ref={input}
          type="file"
          accept=".zip,application/zip"
          hidden
          aria-label={t.upload}
          onChange={(event) => {
            const file = event.target.files?.[0];
            event.target.value = "";
            if (file) uploading.mutate(file);
          }}
        />
      </div>
      {uploading.error && <ErrorNote error={uploading.error} />}
      {children}
    </div>
  );
}

async function send(file: File): Promise<Schemas["Skill"]> {
  if (!/\.(zip|skill)$/i.test(file.name) && !file.type.includes("zip")) {
    throw new Error(wordsNow(words).notZip);
  }
  const response = await fetch("/api/v1/skills", {
    method: "POST",
    headers: { "content-type": "application/zip" },
    body: file,
  });
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(body, response);
  return body as Schemas["Skill"];
}
