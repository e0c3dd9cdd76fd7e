import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { fenceInChinese } from "../src/ui/fenceWords.ts";
import { phraseInChinese } from "../src/ui/phrases.ts";

const documented = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), "utf8");

test("the fence as the guide shows it is all in Chinese", () => {
  const [line] = /^files: kernel;.*$/m.exec(documented("guide/fence.md")) ?? [];
  assert.ok(line);
  assert.doesNotMatch(fenceInChinese(line), /[a-z]+ [a-z]+|[a-z]+: |kernel|bounded/);
});

const FENCES: [string, string][] = [
  ["files: kernel; signals: no (old kernel); sockets: blocked", "文件：由内核限制；信号：不限制（内核过旧）；套接字：已阻止"],
  ["network: list, through this machine's proxy; processes: watched", "网络：仅限名单，经由本机代理；进程：受监视"],
  ["mounts: its own, with /tmp and /dev/shm", "挂载：会话自有，包括 /tmp 和 /dev/shm"],
  ["no fence: it is switched off on this machine", "无隔离：在这台机器上已关闭"],
  ["files: something else; a thing: kernel; said plainly", "文件：something else；a thing: kernel；said plainly"],
  ["toString: kernel", "toString: kernel"],
  ["", ""],
];

for (const [said, wanted] of FENCES) {
  test(`a fence in Chinese: ${said || "nothing"}`, () => assert.equal(fenceInChinese(said), wanted));
}

const PHRASES: [string, string][] = [
  ["did not connect within 60 s", "60 秒内没有连接"],
  [
    "died 3 times in a row; the last time it exited with 2: no room (it is started again every 5 minutes)",
    "连续 3 次意外结束；最后一次：以退出码 2 结束: no room（每 5 分钟重新启动一次）",
  ],
  ["starting again, it was ended by SIGKILL", "正在重新启动，上次：被 SIGKILL 终止"],
  ["OpenClaw is not installed", "未安装 OpenClaw"],
  ["Node.js is not installed; OpenClaw needs 24.16 or later", "未安装 Node.js；OpenClaw 需要 24.16 或更新版本"],
  ["/usr/bin/codex does not start: no answer within 5 s", "/usr/bin/codex 无法启动：5 秒内没有回答"],
  ["/usr/bin/codex does not start: Permission denied", "/usr/bin/codex 无法启动：Permission denied"],
  ["SQLite in the data folder", "数据目录中的 SQLite"],
  ["wordllama l2_supercat, telling words", "wordllama l2_supercat，只取有信息的词"],
  ["what nobody has thought of", "what nobody has thought of"],
];

for (const [said, wanted] of PHRASES) {
  test(`in Chinese: ${said}`, () => assert.equal(phraseInChinese(said), wanted));
}
