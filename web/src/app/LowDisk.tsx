// For admins of the server, on every page: the disk of its data runs low.
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "../api/client";
import { keys } from "../api/keys";
import { meQuery } from "../api/me";
import { useWords } from "../i18n";
import { useLanguage } from "../i18n/language";
import { bytes } from "../ui/numbers";
import css from "./shell.module.css";
import { words } from "./words";

const EVERY_MS = 60_000;

export function LowDisk() {
  const t = useWords(words);
  const language = useLanguage();
  const isAdmin = useQuery(meQuery).data?.user.role === "admin";
  const health = useQuery({
    queryKey: keys.health(),
    queryFn: () => unwrap(api.GET("/api/v1/health")),
    enabled: isAdmin,
    refetchInterval: EVERY_MS,
  });
  const disk = health.data?.disk;
  if (!isAdmin || disk === undefined || !disk.is_low) return null;
  return (
    <p className={css.offline} role="status">
      {t.diskLow(bytes(disk.free_bytes, language))}
    </p>
  );
}
