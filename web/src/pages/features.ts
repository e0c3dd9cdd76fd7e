// What works on a machine without its line, and what does not, in the page's language.
import { dictionary, useWords } from "../i18n";

const words = dictionary({
  en: {
    short_term_memory: "memory of the session",
    checkpoints: "saved states",
    models: "models",
    local_mcp: "MCP servers of its own",
    code_execution: "commands and code",
    cached_skills: "skills that it has",
    long_term_memory: "long-term memory",
    remote_mcp: "remote MCP servers",
    uncached_skills: "skills it does not have yet",
    usage_reports: "usage reports",
    events: "what its sessions say",
    snapshots: "snapshots",
  },
  zh: {
    short_term_memory: "会话内记忆",
    checkpoints: "已保存的状态",
    models: "模型",
    local_mcp: "本地 MCP 服务器",
    code_execution: "命令与代码",
    cached_skills: "已下载的技能",
    long_term_memory: "长期记忆",
    remote_mcp: "远程 MCP 服务器",
    uncached_skills: "尚未下载的技能",
    usage_reports: "用量报告",
    events: "会话输出",
    snapshots: "快照",
  },
});

/** A name that is not known here stays what it is. */
export function useFeatureName(): (feature: string) => string {
  const t: Record<string, string> = useWords(words);
  return (feature) => (Object.hasOwn(t, feature) ? t[feature] : undefined) ?? feature.replaceAll("_", " ");
}
