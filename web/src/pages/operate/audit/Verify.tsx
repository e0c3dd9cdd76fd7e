// Checks the whole chain, and says in words what came of it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { Button, CodeLine, Dialog, ErrorNote, Field, Input, Spinner } from "../../../ui";
import { count } from "../../../ui/numbers";
import css from "../shared/shared.module.css";
import own from "./audit.module.css";
import { words } from "./words";

type Noted = { seq?: number; hash?: string };

export function VerifyDialog({ onClose }: { onClose: () => void }) {
  const t = useWords(words);
  const [seq, setSeq] = useState("");
  const [hash, setHash] = useState("");
  const verify = useMutation({
    mutationFn: (noted: Noted) => unwrap(api.GET("/api/v1/audit/verify", { params: { query: noted } })),
  });
  const head = useQuery({
    queryKey: keys.audit("head"),
    queryFn: () => unwrap(api.GET("/api/v1/audit/head")),
    staleTime: 0,
    retry: false,
  });
  const { mutate } = verify;
  useEffect(() => mutate({}), [mutate]);
  const isNoted = seq !== "" || hash !== "";
  const isWrong = isNoted && !(/^[1-9]\d{0,14}$/.test(seq) && /^[0-9a-f]{64}$/.test(hash.trim()));
  return (
    <Dialog
      title={t.verifyTitle}
      onClose={onClose}
      onSubmit={() => mutate(isNoted ? { seq: Number(seq), hash: hash.trim() } : {})}
      actions={
        <Button type="submit" look="primary" disabled={verify.isPending || isWrong}>
          {isNoted ? t.check : t.checkAgain}
        </Button>
      }
    >
      <p className={css.soft}>{t.verifyIntro}</p>
      <div aria-live="polite">
        {verify.isPending && (
          <p className={css.row}>
            <Spinner label={t.verifying} /> {t.verifying}
          </p>
        )}
        {verify.data !== undefined && !verify.isPending && <Answer of={verify.data} />}
      </div>
      {verify.error !== null && <ErrorNote error={verify.error} />}
      {head.data !== undefined && head.data.seq > 0 && <Head of={head.data} />}
      <details>
        <summary>{t.noted}</summary>
        <div className={own.noted}>
          <Field label={t.notedSeq}>
            <Input inputMode="numeric" value={seq} onChange={(event) => setSeq(event.target.value)} />
          </Field>
          <Field label={t.notedHash} error={isWrong && t.notedWrong}>
            <Input value={hash} onChange={(event) => setHash(event.target.value)} />
          </Field>
        </div>
      </details>
    </Dialog>
  );
}

function Answer({ of }: { of: Schemas["Verification"] }) {
  const t = useWords(words);
  const language = useLanguage();
  if (of.ok)
    return (
      <>
        <p className={css.well}>{of.entries === 0 ? t.wholeEmpty : t.whole(count(of.entries, language))}</p>
        {of.earlier.map((chain) => (
          <p key={chain.first}>
            {t.earlier(count(chain.first, language), count(chain.last, language))} {chain.broken?.reason ?? chain.reason}
          </p>
        ))}
      </>
    );
  return (
    <div className={css.broken}>
      <p>{t.broken(count(of.first_broken?.seq ?? 0, language))}</p>
      <p>
        {t.brokenWhy} {of.first_broken?.reason}
      </p>
      <p>{t.brokenDo}</p>
    </div>
  );
}

function Head({ of }: { of: Schemas["AuditHead"] }) {
  const t = useWords(words);
  return <CodeLine label={t.head} text={`${of.seq} ${of.hash}`} hint={t.headHint} />;
}
