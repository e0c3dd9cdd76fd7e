// A key or a server's address: tried first, with the models that are there, then kept.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useMe } from "../../api/me";
import { useWords } from "../../i18n";
import { Button, Dialog, ErrorNote, Field, Input, Select, toast } from "../../ui";
import { saveKey, setDefault, testKey } from "./queries";
import { Outcome } from "./Outcome";
import { words } from "./words";

const OTHER = "other";

/** `provider`: of one that is there; `isKept`: its key stays, only the default model is chosen. */
export function KeyForm(props: {
  provider?: string;
  baseUrl?: string | null;
  isKept?: boolean;
  onClose: () => void;
}) {
  const t = useWords(words);
  const me = useMe();
  const isKnown = props.provider !== undefined;
  const [kind, setKind] = useState("openai");
  const [name, setName] = useState("");
  const [apiKey, setApiKey] = useState("");
  const [baseUrl, setBaseUrl] = useState(props.baseUrl ?? "");
  const [model, setModel] = useState("");
  const provider = props.provider ?? (kind === OTHER ? name.trim().toLowerCase() : kind);
  const isOther = provider !== "openai" && provider !== "anthropic";
  const given = {
    ...(apiKey.trim() && { api_key: apiKey.trim() }),
    ...(baseUrl.trim() && !props.isKept && { base_url: baseUrl.trim() }),
  };
  const testing = useMutation({ mutationFn: () => testKey(me.user.id, provider, given) });
  const tested = testing.data;
  const saving = useMutation({
    mutationFn: () => {
      if (props.isKept) return setDefault(me.user.id, provider, model || null);
      const works = tested?.ok && tested.base_url !== null ? { base_url: tested.base_url } : {};
      const chosen = model === "" ? {} : { default_model: model };
      return saveKey(me.user.id, provider, { ...given, ...works, ...chosen });
    },
    onSuccess: () => {
      toast(t.saved);
      props.onClose();
    },
  });
  const isReady = provider !== "" && (props.isKept || apiKey.trim() !== "" || baseUrl.trim() !== "");
  const changed = (set: (value: string) => void) => (event: { target: { value: string } }) => {
    set(event.target.value);
    testing.reset();
    setModel("");
  };
  const isGood = tested?.ok ?? false;
  const providers = [
    { value: "openai", label: t.openai },
    { value: "anthropic", label: t.anthropic },
    { value: OTHER, label: t.other },
  ];
  return (
    <Dialog
      title={props.isKept ? t.chooseDefault : t.add}
      onClose={props.onClose}
      onSubmit={() => (isGood ? saving.mutate() : testing.mutate())}
      actions={
        <>
          {tested !== undefined && !isGood && !props.isKept && (
            <Button disabled={saving.isPending} onClick={() => saving.mutate()}>
              {t.saveUntested}
            </Button>
          )}
          <Button
            type="submit"
            look="primary"
            disabled={!isReady || testing.isPending || saving.isPending || (isGood && props.isKept && !model)}
          >
            {isGood ? t.save : t.test}
          </Button>
        </>
      }
    >
      {isKnown ? (
        <Field label={t.provider}>
          <Input value={provider} readOnly />
        </Field>
      ) : (
        <Field label={t.provider}>
          <Select choices={providers} value={kind} onChange={changed(setKind)} />
        </Field>
      )}
      {!isKnown && kind === OTHER && (
        <Field label={t.providerName} hint={t.providerNameHint}>
          <Input value={name} maxLength={60} placeholder="ollama" onChange={changed(setName)} />
        </Field>
      )}
      {!props.isKept && (
        <>
          {isOther && (
            <Field label={t.baseUrl} hint={t.baseUrlHint}>
              <Input type="url" inputMode="url" value={baseUrl} onChange={changed(setBaseUrl)} />
            </Field>
          )}
          <Field label={isOther ? t.apiKeyOptional : t.apiKey} hint={t.apiKeyHint}>
            <Input
              type="password"
              autoComplete="off"
              spellCheck={false}
              value={apiKey}
              onChange={changed(setApiKey)}
            />
          </Field>
          {!isOther && (
            <Field label={t.baseUrlOptional} hint={t.baseUrlHint}>
              <Input type="url" inputMode="url" value={baseUrl} onChange={changed(setBaseUrl)} />
            </Field>
          )}
        </>
      )}
      <Outcome tested={tested} isPending={testing.isPending} failure={testing.error} />
      {tested?.ok && tested.models.length > 0 && (
        <Field label={t.defaultModel} hint={t.defaultHint}>
          <Select
            choices={[
              { value: "", label: t.noDefault },
              ...tested.models.map((one) => ({ value: one, label: one })),
            ]}
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        </Field>
      )}
      {saving.error !== null && <ErrorNote error={saving.error} />}
    </Dialog>
  );
}
