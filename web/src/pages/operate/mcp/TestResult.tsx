// Whether a server answers, and with which tools.
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../../api/client";
import { BY_HAND } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { Badge, ErrorNote, records, Spinner } from "../../../ui";
import { Inline } from "../../../ui/Inline";
import css from "./mcp.module.css";
import { words } from "./words";

export const testKey = (id: string) => ["mcp-test", id] as const;

/** Asked once, and again when somebody says so. */
export function useServerTest(id: string, enabled: boolean): UseQueryResult<Schemas["McpTest"]> {
  return useQuery({
    queryKey: testKey(id),
    queryFn: () =>
      unwrap(api.POST("/api/v1/mcp-servers/{server_id}/test", { params: { path: { server_id: id } } })),
    enabled,
    staleTime: Infinity,
    meta: BY_HAND,
    retry: false,
  });
}

export function TestResult({ name, test }: { name: string; test: UseQueryResult<Schemas["McpTest"]> }) {
  const t = useWords(words);
  if (test.isFetching) return <Spinner label={t.testing} />;
  if (test.error) return <ErrorNote error={test.error} />;
  if (test.data === undefined) return null;
  const { ok, error, code, tools } = test.data;
  if (ok === null) return <p className={records.soft}>{t.untested.replace("NAME", name)}</p>;
  if (!ok) {
    return (
      <div className={css.failed} role="alert">
        <strong>{t.failed}</strong>
        <p>{error}</p>
        {code === "MCP_ADDRESS_REFUSED" && (
          <p>
            <Inline text={t.refusedHelp} />
          </p>
        )}
      </div>
    );
  }
  return (
    <details className={css.tools} open>
      <summary>
        <Badge tone="good">{t.answers(tools?.length ?? 0)}</Badge>
      </summary>
      <dl className={css.list} aria-label={t.tools}>
        {tools?.map((tool) => (
          <div key={tool.name}>
            <dt>
              <code>{tool.name}</code> {tool.read_only && <Badge>{t.readOnly}</Badge>}
            </dt>
            <dd>{tool.description}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
