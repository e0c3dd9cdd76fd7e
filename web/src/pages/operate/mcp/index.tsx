// MCP servers: added, tested, switched, removed.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { FlaskConical, Pencil, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { usePages } from "../../../api/pages";
import { useWords } from "../../../i18n";
import {
  AddButton,
  Badge,
  Button,
  ConfirmDialog,
  Empty,
  Listing,
  Menu,
  Page,
  RecordItem,
  records,
  Records,
  Time,
  toast,
} from "../../../ui";
import { ServerDialog } from "./ServerDialog";
import { TestResult, testKey, useServerTest } from "./TestResult";
import { words } from "./words";

type Server = Schemas["McpServer"];
type Open = { kind: "edit" | "remove"; server: Server } | { kind: "add" } | null;

export default function McpPage() {
  const t = useWords(words);
  const client = useQueryClient();
  const [open, setOpen] = useState<Open>(null);
  /** The one that was saved last is tested at once. */
  const [fresh, setFresh] = useState<string | null>(null);
  const list = usePages(keys.mcpServers(), (cursor) =>
    unwrap(api.GET("/api/v1/mcp-servers", { params: { query: { cursor } } })),
  );
  const close = () => setOpen(null);
  const changed = async () => {
    await client.invalidateQueries({ queryKey: keys.mcpServers() });
    close();
  };
  const add = <AddButton onClick={() => setOpen({ kind: "add" })}>{t.add}</AddButton>;
  return (
    <Page title={t.title} intro={t.intro} actions={add} narrow>
      <Listing of={list} empty={<Empty title={t.empty}>{t.emptyHelp}</Empty>}>
        {(items) => (
          <Records label={t.title}>
            {items.map((server) => (
              <Item
                key={server.id === fresh ? `${server.id} fresh` : server.id}
                server={server}
                isFresh={server.id === fresh}
                onOpen={setOpen}
                onChanged={changed}
              />
            ))}
          </Records>
        )}
      </Listing>
      {open !== null && open.kind !== "remove" && (
        <ServerDialog
          server={open.kind === "edit" ? open.server : null}
          onSaved={async (saved) => {
            setFresh(saved.id);
            void client.resetQueries({ queryKey: testKey(saved.id) });
            await changed();
          }}
          onClose={close}
        />
      )}
      {open?.kind === "remove" && (
        <ConfirmDialog
          title={t.removeTitle(open.server.name)}
          confirm={t.remove}
          danger
          onConfirm={() => remove(open.server.id).then(changed)}
          onClose={close}
        >
          <p>{t.removeHelp}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function remove(id: string): Promise<unknown> {
  return unwrap(api.DELETE("/api/v1/mcp-servers/{server_id}", { params: { path: { server_id: id } } }));
}

function Item(props: {
  server: Server;
  isFresh: boolean;
  onOpen: (open: Open) => void;
  onChanged: () => Promise<void>;
}) {
  const t = useWords(words);
  const me = useMe();
  const { server } = props;
  const [isAsked, setAsked] = useState(props.isFresh);
  const test = useServerTest(server.id, isAsked);
  const isMine = server.user_id === me.user.id;
  const mayRemove = isMine || me.user.role !== "member";
  const mayChange = isMine || (server.user_id === null && mayRemove);
  const switching = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH("/api/v1/mcp-servers/{server_id}", {
          params: { path: { server_id: server.id } },
          body: { enabled: !server.enabled },
        }),
      ),
    onSuccess: props.onChanged,
    onError: toast,
  });
  const ask = () => {
    if (isAsked) void test.refetch();
    else setAsked(true);
  };
  return (
    <RecordItem
      title={
        <>
          {server.name}
          <Badge>{server.type === "remote" ? t.remoteBadge : t.localBadge}</Badge>
          {server.user_id === null && <Badge>{t.sharedBadge}</Badge>}
          {server.trust_hints && <Badge>{t.trustedBadge}</Badge>}
          {!server.enabled && <Badge tone="warn">{t.offBadge}</Badge>}
        </>
      }
      facts={<Time at={server.created_at} />}
      actions={
        <>
          <Button onClick={ask} disabled={test.isFetching}>
            <FlaskConical size={15} aria-hidden />
            {test.isFetching ? t.testing : t.test}
          </Button>
          {mayRemove && (
            <Menu
              label={t.actions(server.name)}
              items={[
                mayChange
                  ? {
                      label: t.edit,
                      icon: <Pencil size={15} />,
                      onSelect: () => props.onOpen({ kind: "edit", server }),
                    }
                  : null,
                mayChange
                  ? {
                      label: server.enabled ? t.switchOff : t.switchOn,
                      icon: <Power size={15} />,
                      onSelect: () => switching.mutate(),
                    }
                  : null,
                {
                  label: t.remove,
                  icon: <Trash2 size={15} />,
                  danger: true,
                  onSelect: () => props.onOpen({ kind: "remove", server }),
                },
              ]}
            />
          )}
        </>
      }
      below={isAsked && <TestResult name={server.name} test={test} />}
    >
      <p className={records.mono}>{server.url ?? [server.command, ...server.args].join(" ")}</p>
    </RecordItem>
  );
}
