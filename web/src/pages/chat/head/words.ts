import { dictionary } from "../../../i18n";

export const words = dictionary({
  en: {
    back: "All chats",
    editTitle: "Rename",
    title: "Title",
    actions: "Actions for this chat",
    panel: "Files, changes and usage",
    machine: "Machine",
    runtime: "Runtime",
    model: "Model",
    folder: "Folder",
    mode: "Permissions",
    cost: "Cost of this chat",
    forked: "A copy of another chat",
    modes: (mode: string) =>
      ({ plan: "only reads", ask: "asks", accept_edits: "edits freely", free: "asks nothing" })[mode] ?? mode,
  },
  zh: {
    back: "所有会话",
    editTitle: "重命名",
    title: "标题",
    actions: "此会话的操作",
    panel: "文件、改动和用量",
    machine: "机器",
    runtime: "运行时",
    model: "模型",
    folder: "文件夹",
    mode: "权限",
    cost: "此会话的费用",
    forked: "另一个会话的副本",
    modes: (mode: string) =>
      ({ plan: "只读", ask: "会询问", accept_edits: "可自由编辑", free: "不询问" })[mode] ?? mode,
  },
});
