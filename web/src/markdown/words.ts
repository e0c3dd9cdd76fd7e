import { dictionary } from "../i18n";

export const words = dictionary({
  en: {
    table: "Table",
    code: "Code",
    codeOf: (language: string) => `Code, ${language}`,
    done: "Done",
    notDone: "Not done",
    showLines: (count: number) => `Show all ${count} lines`,
    showLess: "Show less",
    linesAbove: (count: number) => `… ${count} lines above`,
  },
  zh: {
    table: "表格",
    code: "代码",
    codeOf: (language: string) => `代码，${language}`,
    done: "已完成",
    notDone: "未完成",
    showLines: (count: number) => `显示全部 ${count} 行`,
    showLess: "收起",
    linesAbove: (count: number) => `… 上面还有 ${count} 行`,
  },
});
