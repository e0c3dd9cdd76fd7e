// The form of an MCP server. What is secret is written, never read.
import { useMutation } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { useMe } from "../../../api/me";
import { useWords } from "../../../i18n";
import {
  Button,
  Dialog,
  ErrorNote,
  Field,
  IconButton,
  Input,
  records,
  Select,
  Switch,
  Textarea,
} from "../../../ui";
import { words } from "./words";

type Server = Schemas["McpServer"];
type Header = { name: string; value: string };

const TIMEOUT_S = 60;

/** `server` of null: a new one. */
export function ServerDialog(props: {
  server: Server | null;
  onSaved: (saved: Server) => Promise<unknown>;
  onClose: () => void;
}) {
  const t = useWords(words);
  const isAdmin = useMe().user.role !== "member";
  const { server } = props;
  const [type, setType] = useState<Server["type"]>(server?.type ?? "remote");
  const [name, setName] = useState(server?.name ?? "");
  const [url, setUrl] = useState("");
  const [headers, setHeaders] = useState<Header[]>([]);
  const [command, setCommand] = useState(server?.command ?? "");
  const [args, setArgs] = useState(server?.args.join("\n") ?? "");
  const [seconds, setSeconds] = useState(String(server?.timeout_s ?? TIMEOUT_S));
  const [trust, setTrust] = useState(server?.trust_hints ?? false);
  const [shared, setShared] = useState(false);
  const isRemote = type === "remote";
  const saving = useMutation({
    mutationFn: () => {
      const given = headers.filter((one) => one.name.trim() !== "");
      const remote = {
        ...((server === null || url !== "") && { url: url.trim() }),
        ...((server === null || given.length > 0) && {
          headers: Object.fromEntries(given.map((one) => [one.name.trim(), one.value])),
        }),
      };
      const local = { command: command.trim(), args: args.split("\n").filter((one) => one !== "") };
      const body = {
        name: name.trim(),
        timeout_s: Number(seconds) || TIMEOUT_S,
        trust_hints: trust,
        ...(isRemote ? remote : local),
      };
      if (server === null) {
        return unwrap(api.POST("/api/v1/mcp-servers", { body: { ...body, type, shared } }));
      }
      const path = { server_id: server.id };
      return unwrap(api.PATCH("/api/v1/mcp-servers/{server_id}", { params: { path }, body }));
    },
    onSuccess: props.onSaved,
  });
  const isWhole = name.trim() !== "" && (isRemote ? server !== null || url.trim() !== "" : command.trim() !== "");
  return (
    <Dialog
      title={server === null ? t.addTitle : t.editTitle(server.name)}
      onClose={props.onClose}
      onSubmit={() => saving.mutate()}
      actions={
        <Button look="primary" type="submit" disabled={saving.isPending || !isWhole}>
          {isRemote ? t.saveAndTest : t.save}
        </Button>
      }
    >
      <div className={records.form}>
        {server === null && (
          <Field label={t.kind}>
            <Select
              value={type}
              onChange={(event) => setType(event.target.value as Server["type"])}
              choices={[
                { value: "remote", label: t.remote },
                { value: "local", label: t.local },
              ]}
            />
          </Field>
        )}
        <Field label={t.name} hint={t.nameHint.replaceAll("`", "")}>
          <Input
            value={name}
            maxLength={100}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        {isRemote ? (
          <>
            <Field label={t.url} hint={server?.url ? t.urlKept(server.url) : t.urlHint}>
              <Input
                type="url"
                value={url}
                placeholder="https://mcp.example/mcp"
                autoComplete="off"
                onChange={(event) => setUrl(event.target.value)}
              />
            </Field>
            <Headers of={headers} onChange={setHeaders} hint={server === null ? t.headersHint : t.headersKept} />
          </>
        ) : (
          <>
            <Field label={t.command} hint={t.commandHint}>
              <Input value={command} autoComplete="off" onChange={(event) => setCommand(event.target.value)} />
            </Field>
            <Field label={t.args} hint={t.argsHint}>
              <Textarea rows={3} value={args} onChange={(event) => setArgs(event.target.value)} />
            </Field>
          </>
        )}
        <Field label={t.timeout}>
          <Input
            type="number"
            min={1}
            max={600}
            value={seconds}
            onChange={(event) => setSeconds(event.target.value)}
          />
        </Field>
        <div>
          <Switch label={t.trust} checked={trust} onChange={setTrust} />
          <p className={records.soft}>{t.trustHint}</p>
        </div>
        {server === null && isAdmin && <Switch label={t.share} checked={shared} onChange={setShared} />}
        {saving.error && <ErrorNote error={saving.error} />}
      </div>
    </Dialog>
  );
}

function Headers(props: { of: Header[]; onChange: (headers: Header[]) => void; hint: string }) {
  const t = useWords(words);
  const set = (at: number, change: Partial<Header>) =>
    props.onChange(props.of.map((one, index) => (index === at ? { ...one, ...change } : one)));
  return (
    <div className={records.form} role="group" aria-label={t.headers}>
      <div>
        <strong>{t.headers}</strong>
        <p className={records.soft}>{props.hint}</p>
      </div>
      {props.of.map((header, at) => (
        <div key={at} className={records.pair}>
          <Input
            aria-label={`${t.headerName} ${at + 1}`}
            placeholder="Authorization"
            autoComplete="off"
            value={header.name}
            onChange={(event) => set(at, { name: event.target.value })}
          />
          <Input
            type="password"
            aria-label={`${t.headerValue} ${at + 1}`}
            placeholder="Bearer …"
            autoComplete="new-password"
            value={header.value}
            onChange={(event) => set(at, { value: event.target.value })}
          />
          <IconButton
            label={t.removeHeader}
            onClick={() => props.onChange(props.of.filter((_, index) => index !== at))}
          >
            <X size={16} />
          </IconButton>
        </div>
      ))}
      <div>
        <Button small onClick={() => props.onChange([...props.of, { name: "", value: "" }])}>
          <Plus size={14} aria-hidden />
          {t.addHeader}
        </Button>
      </div>
    </div>
  );
}
