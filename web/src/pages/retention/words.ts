import { dictionary } from "../../i18n";

export const words = dictionary({
  en: {
    days: "Days that events are kept",
    size: "Megabytes of the log that are kept",
    noBound: "Empty: without a bound",
    asOrg: (bound: string) => `Empty: as the organisation has it, ${bound}`,
    none: "without a bound",
    inDays: (days: number) => (days === 1 ? "1 day" : `${days} days`),
    inMegabytes: (megabytes: number) => `${megabytes} MB`,
    title: "How much is kept",
    help: "What is older, or more, is removed for good, with its turns.",
    stored: (size: string) => `The log of this chat takes ${size} now.`,
    cut: "Its beginning was removed already.",
    save: "Save",
  },
  zh: {
    days: "事件保留天数",
    size: "保留的日志大小（MB）",
    noBound: "留空：不限",
    asOrg: (bound: string) => `留空：与组织相同，${bound}`,
    none: "不限",
    inDays: (days: number) => `${days} 天`,
    inMegabytes: (megabytes: number) => `${megabytes} MB`,
    title: "保留多少",
    help: "超出期限或大小的内容将连同其轮次永久删除。",
    stored: (size: string) => `此会话的日志目前占用 ${size}。`,
    cut: "其开头已被删除。",
    save: "保存",
  },
});
