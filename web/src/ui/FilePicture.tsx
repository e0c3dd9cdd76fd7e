// A file to look at that is a picture; of one that cannot be shown, why.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fetched } from "../api/client";
import { useWords } from "../i18n";
import { ErrorNote, Waiting } from "./feedback";
import { FileHead } from "./FileText";
import css from "./fileText.module.css";
import { records } from "./Records";
import { words } from "./words";

export function FilePicture({ path, address }: { path: string; address: string }) {
  const [isBroken, setBroken] = useState(false);
  return (
    <section className={css.file} aria-label={path}>
      <FileHead path={path} address={address} />
      {isBroken ? (
        <Broken address={address} onRetry={() => setBroken(false)} />
      ) : (
        <img className={css.picture} src={address} alt={path} onError={() => setBroken(true)} />
      )}
    </section>
  );
}

/** The browser does not say why, so the server is asked. */
function Broken({ address, onRetry }: { address: string; onRetry: () => void }) {
  const t = useWords(words);
  const asked = useQuery({
    queryKey: ["broken picture", address],
    queryFn: async () => {
      await (await fetched(address)).body?.cancel();
      return true;
    },
    gcTime: 0,
  });
  if (asked.error !== null) return <ErrorNote error={asked.error} retry={onRetry} />;
  if (asked.isPending) return <Waiting />;
  return (
    <p className={records.soft} role="alert">
      {t.notPicture}
    </p>
  );
}
